//===- Checkpoints.cpp - Checkpoints of shard-run ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checkpoints.h"

#include <fmt/format.h>

namespace weft::tools {

using namespace weft::runtime;

Checkpoints Checkpoints::find(const Arguments &arguments, Problems &problems) {
  Checkpoints checkpoints(arguments);
  if (arguments.checkpoints.empty())
    return checkpoints;
  Result<std::vector<CheckpointFolder>> found =
      listCheckpoints(arguments.checkpoints);
  if (!found.ok()) {
    problems.push_back(
        fmt::format("--checkpoint: {}", found.status().message()));
    return checkpoints;
  }
  // A later --resume would continue from the other run.
  if (!arguments.resume && !found->empty())
    problems.push_back(fmt::format(
        "--checkpoint: {} has the checkpoint of step {} of another run; give "
        "--resume to continue from it, or another folder",
        arguments.checkpoints, found->back().step));
  if (!arguments.resume)
    return checkpoints;
  checkpoints.found = *std::move(found);
  if (!checkpoints.isResumed())
    return checkpoints;
  const int64_t last = checkpoints.found.back().step;
  if (last >= arguments.steps && !arguments.outputs.empty())
    problems.push_back(fmt::format(
        "--output {}: the checkpoint of step {} leaves no step of {} to run",
        arguments.outputs.front().name, last, arguments.steps));
  return checkpoints;
}

/// On a file system that not all processes share, or see alike, some would
/// begin where others resume.
static Status compare(Bootstrap &bootstrap, const std::string &mine) {
  WEFT_ASSIGN_OR_RETURN(const std::string first,
                        bootstrap.broadcast("the step to resume from", mine,
                                            std::chrono::minutes(5)));
  if (first == mine)
    return {};
  return failedPrecondition(fmt::format(
      "process 0 finds {} to resume from, process {} {}; --checkpoint must be "
      "on a file system that all processes share",
      first, bootstrap.launch().rank, mine));
}

Status Checkpoints::open(const std::shared_ptr<Bootstrap> &bootstrap) {
  if (arguments.checkpoints.empty())
    return {};
  if (bootstrap)
    WEFT_RETURN_IF_ERROR(compare(
        *bootstrap, isResumed() ? fmt::format("step {}", found.back().step)
                                : std::string("no checkpoint")));
  CheckpointOptions options;
  options.keep = arguments.keep;
  options.bootstrap = bootstrap;
  WEFT_ASSIGN_OR_RETURN(writer,
                        CheckpointWriter::open(arguments.checkpoints, options));
  WEFT_ASSIGN_OR_RETURN(
      preemption,
      Preemption::create(bootstrap, *deadlineOf(arguments.deadlineSeconds)));
  signals = std::make_unique<StopSignals>(*preemption);
  return {};
}

Status Checkpoints::restore(Session &session, const Note &note) {
  while (isResumed()) {
    const CheckpointFolder &last = found.back();
    const Status status = session.restore(last.path);
    if (status.ok()) {
      first = last.step;
      note(fmt::format("resumed from {}", last.path));
      return {};
    }
    // A checkpoint of another plan is no damaged one.
    if (status.code() == StatusCode::InvalidArgument || found.size() == 1)
      return status;
    if (!arguments.skipDamaged)
      return Status(status.code(), status.message() +
                                       "; --skip-damaged resumes from the last "
                                       "checkpoint that is not damaged");
    note(fmt::format("skipped a damaged checkpoint: {}", status.message()));
    found.pop_back();
  }
  return {};
}

Status Checkpoints::beforeSteps(Session &session) {
  return writer ? session.prepareSave(*writer) : Status();
}

Status Checkpoints::afterStep(Session &session, int64_t done) {
  if (!writer)
    return {};
  WEFT_ASSIGN_OR_RETURN(const bool isAsked, preemption->reachedSyncPoint(done));
  // Who is asked in the last step is done with it.
  stopped = isAsked && done < arguments.steps;
  const bool isDue = arguments.every > 0 && done % arguments.every == 0;
  return isDue || stopped || done == arguments.steps
             ? session.save(*writer, done)
             : Status();
}

Status Checkpoints::finish() { return writer ? writer->wait() : Status(); }

} // namespace weft::tools
