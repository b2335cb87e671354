//===- Progress.h - What shard-run prints while it runs ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_RUN_PROGRESS_H
#define WEFT_TOOLS_SHARD_RUN_PROGRESS_H

#include "weft/runtime/Launch.h"
#include "weft/runtime/Session.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft::tools {

/// The scalar outputs of a step: those that are no states and have no
/// dimensions.
class Scalars {
public:
  explicit Scalars(const runtime::EntrySpec &entry);

  const std::vector<std::string> &names() const { return outputs; }
  /// The values of the last run with as many digits as their type has.
  runtime::Result<std::vector<std::string>>
  read(const runtime::Session &session) const;

private:
  std::vector<std::string> outputs;
};

/// A file with a line a step, as --metrics writes. In CSV "step,loss", then
/// "0,2.5"; where its name ends in ".jsonl", {"step": 0, "loss": 2.5}. A line
/// that cannot be written is the last one, and `close` fails: the steps go on.
class StepsFile {
public:
  /// `columns` are those after the number of the step; values that are empty or
  /// no numbers are null in JSON.
  /// The lines of steps before `first` stay, those that are there of later ones
  /// go: a run that is resumed makes these steps again.
  runtime::Status open(const std::string &path,
                       const std::vector<std::string> &columns, int64_t first);
  bool isOpen() const { return file != nullptr; }
  void write(int64_t step, const std::vector<std::string> &values);
  runtime::Status close();

private:
  std::string lineOf(int64_t step,
                     const std::vector<std::string> &values) const;
  std::optional<uintmax_t> bytesBefore(std::istream &file, int64_t first) const;

  struct Closer {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  std::string path;
  bool isJson = false;
  /// Of JSON, as they are in a line.
  std::vector<std::string> keys;
  /// The first line of CSV.
  std::string header;
  runtime::Status failure;
  std::unique_ptr<std::FILE, Closer> file;
};

/// On a terminal one line that is drawn again ten times a second; otherwise
/// about twenty lines a run.
class Progress {
public:
  /// With several processes all want the same steps, and rank 0 shows them.
  /// Steps from `first` to `steps`.
  Progress(int64_t first, int64_t steps, bool quiet, const Scalars &scalars,
           const runtime::Launch &launch);

  /// Whether step `step`, from 0, is shown, so that its values must be read.
  bool wants(int64_t step) const;
  void show(int64_t step, const std::vector<std::string> &values);
  /// The line after the last step, when `done` steps have been made in all.
  void finish(int64_t done);

private:
  double seconds() const;

  const int64_t first, steps;
  const bool quiet;
  const bool isTerminal;
  const bool isShowing;
  const Scalars &scalars;
  const std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point lastDrawn;
};

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_RUN_PROGRESS_H
