//===- Checkpoints.h - Checkpoints of shard-run -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_RUN_CHECKPOINTS_H
#define WEFT_TOOLS_SHARD_RUN_CHECKPOINTS_H

#include "Arguments.h"
#include "weft/runtime/Checkpoint.h"
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

  /// Opens the folder for writing, with the other processes.
  runtime::Status open(const std::shared_ptr<runtime::Bootstrap> &bootstrap);

  /// Sets the states of a run that is resumed. What was passed over is told to
  /// `note`.
  runtime::Status restore(runtime::Session &session, const Note &note);

  /// Steps that were made before: the number of the first one to make.
  int64_t firstStep() const { return first; }

  /// To be called when `done` steps have been made in all.
  runtime::Status afterStep(runtime::Session &session, int64_t done);

  /// Returns when the last checkpoint is on disk.
  runtime::Status finish();

private:
  explicit Checkpoints(const Arguments &arguments) : arguments(arguments) {}

  const Arguments &arguments;
  std::vector<runtime::CheckpointFolder> found;
  std::unique_ptr<runtime::CheckpointWriter> writer;
  int64_t first = 0;
};

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_RUN_CHECKPOINTS_H
