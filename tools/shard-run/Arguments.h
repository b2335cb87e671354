//===- Arguments.h - The command line of shard-run --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_RUN_ARGUMENTS_H
#define WEFT_TOOLS_SHARD_RUN_ARGUMENTS_H

#include "weft/runtime/Launch.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::tools {

/// Exit codes of the tool.
enum ExitCode : int {
  exitSuccess = 0,
  /// The run failed: machine, memory, deadline, a full disk.
  exitRunFailed = 1,
  /// Arguments, plan or input files are wrong; nothing was run or written.
  exitBadInput = 2,
  /// A signal ended the run early. Its checkpoint is on disk, and --resume
  /// continues from there.
  exitStopped = 3,
};

/// All that is wrong with the files and names of a run, to be shown at once.
using Problems = std::vector<std::string>;

/// NAME=FILE.
struct NamedFile {
  std::string name;
  std::string path;
};

struct Arguments {
  std::string plan;
  std::string entry;
  std::string init;
  int64_t steps = 1;
  std::vector<NamedFile> inputs;
  std::vector<NamedFile> outputs;
  std::string load;
  /// A reference plan to compare one step with; empty = run as usual.
  std::string verify;
  std::string save;
  /// A folder of checkpoints; empty = none are written.
  std::string checkpoints;
  /// Steps from one to the next; 0 = only after the last.
  int64_t every = 0;
  bool resume = false;
  /// Whether a damaged one makes the run resume from the one before.
  bool skipDamaged = false;
  int keep = 0;
  std::string metrics;
  /// Whether lines of metrics have what was measured as well; of a step how
  /// many tokens it has, and what a rank can compute, if that was said.
  bool measure = false;
  int64_t tokens = 0;
  double peakTeraflops = 0;
  std::string times;
  std::string trace;
  int traceRuns = 10;
  int threads = 1;
  double deadlineSeconds = 30;
  /// Options of the command line that are for plans for GPUs alone.
  std::vector<std::string> gpuOptions;
  int device = 0;
  bool cudaGraphs = true;
  int processorsForCollectives = 0;
  bool quiet = false;
  /// Where the processes of a job meet, and which of them this is.
  runtime::LaunchOptions launch;
  double startDeadlineSeconds = 300;
  double heartbeatSeconds = 3;
  bool deterministic = false;
  bool serializeCollectives = false;
  bool registerArena = false;
  /// Set when the plan is printed instead of run; empty = all sections.
  std::optional<std::string> dump;
};

/// Fills `arguments`, or returns the exit code with which the tool ends now
/// (after --help and after a message about a wrong command line).
std::optional<int> parseArguments(int argc, char **argv, Arguments &arguments);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_RUN_ARGUMENTS_H
