//===- Executor.h - Runs timelines, one event after the other ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A small machine that the checker is compared with: hosts issue the calls of
// their rows, streams run what was issued, and a transfer happens only while
// both its ends are at the heads of their queues. Which of all the possible
// events is next is drawn. Values are symbols: what an action computes is a
// number made of its inputs, so that a mix-up shows in the results.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_TIMELINE_EXECUTOR_H
#define WEFT_TEST_TIMELINE_EXECUTOR_H

#include "weft/Timeline/Check.h"

#include <map>
#include <set>
#include <tuple>

namespace weft::timeline {

struct Execution {
  /// "deadlock", or what went wrong; empty if all was run.
  std::string failure;
  /// By stage: the gradient sums, in the order in which they were added up, and
  /// whether they were reduced. By micro-batch: the outputs of the last stage.
  std::map<int32_t, uint64_t> gradients;
  std::map<int32_t, uint64_t> outputs;
  /// What levels of updates compute, by stage and level; and what is received
  /// for a state, by the stages of the message and its level.
  std::map<std::pair<int32_t, int32_t>, uint64_t> updates;
  std::map<std::tuple<int32_t, int32_t, int32_t>, uint64_t> states;

  bool operator==(const Execution &) const = default;
};

/// How a send finds its receive: by its number between two ranks on their
/// communicator, as with NCCL, or by what it says it carries, as with MPI tags.
enum class Matching { ByOrder, ByTag };

/// `sharded`: the stages whose parameters are gathered before they are used.
Execution execute(const Job &job, const std::set<int32_t> &sharded,
                  unsigned seed, Matching matching = Matching::ByOrder);

} // namespace weft::timeline

#endif // WEFT_TEST_TIMELINE_EXECUTOR_H
