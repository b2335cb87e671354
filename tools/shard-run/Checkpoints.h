//===- Checkpoints.h - Checkpoints of shard-run -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_RUN_CHECKPOINTS_H
#define WEFT_TOOLS_SHARD_RUN_CHECKPOINTS_H

#include "Arguments.h"
#include "StopSignals.h"
#include "weft/runtime/Checkpoint.h"
#include "weft/runtime/Preemption.h"
#include "weft/runtime/Session.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft::tools {

/// The folder of --checkpoint: what a run is resumed from, and what it leaves.
class Checkpoints {
public:
  using Note = std::function<void(const std::string &)>;

  /// Looks for what --resume asks for; adds to `problems`.
  static Checkpoints find(const Arguments &arguments, Problems &problems);

  /// Whether states come from a checkpoint.
  bool isResumed() const { return !found.empty(); }

  /// Opens the folder for writing, with the other processes. From now on a
  /// signal ends the run only after a checkpoint.
  runtime::Status open(const std::shared_ptr<runtime::Bootstrap> &bootstrap);

  /// Sets the states of a run that is resumed. What was passed over is told to
  /// `note`.
  runtime::Status restore(runtime::Session &session, const Note &note);

  /// Steps that were made before: the number of the first one to make.
  int64_t firstStep() const { return first; }

  /// To be called before the first step that is made.
  runtime::Status beforeSteps(runtime::Session &session);

  /// To be called when `done` steps have been made in all.
  runtime::Status afterStep(runtime::Session &session, int64_t done);

  /// Whether a signal ended the run after the last step, which is then saved.
  bool isStopped() const { return stopped; }

  /// Returns when the last checkpoint is on disk.
  runtime::Status finish();

private:
  explicit Checkpoints(const Arguments &arguments) : arguments(arguments) {}

  const Arguments &arguments;
  std::vector<runtime::CheckpointFolder> found;
  std::unique_ptr<runtime::CheckpointWriter> writer;
  std::unique_ptr<runtime::Preemption> preemption;
  std::unique_ptr<StopSignals> signals;
  int64_t first = 0;
  bool stopped = false;
};

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_RUN_CHECKPOINTS_H
