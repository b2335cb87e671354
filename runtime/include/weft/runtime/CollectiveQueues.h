//===- CollectiveQueues.h - Which collectives run side by side --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In one queue, a collective runs when those that were started before it are
// over, whoever waits for it:
//
//   0: start #0 all_reduce      gradient, over nodes, wanted at the end
//   1: start #1 all_reduce      activation, within a node, wanted at once
//   2: wait #1                  in one queue: for #0 as well
//   ...
//   9: wait #0
//
// So devices have two queues, each with a stream and communicators of its own.
// The plan says which collective is in which, and so all ranks agree.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COLLECTIVEQUEUES_H
#define WEFT_RUNTIME_COLLECTIVEQUEUES_H

#include "weft/runtime/plan_generated.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::runtime {

constexpr size_t maxQueues = 2;

class CollectiveQueues {
public:
  /// Of a verified plan. With `serialize` there is one queue for all.
  CollectiveQueues(const plan::Plan &plan, bool serialize);
  /// One queue, for groups that no plan is known of.
  explicit CollectiveQueues(size_t groups);

  /// 1, or 2 when a collective of some entry is in the second.
  size_t count() const { return queues; }
  /// The queue of the collective with number `id` of an entry.
  size_t of(size_t entry, uint32_t id) const {
    return queues == 1 ? 0 : entries[entry][id];
  }
  /// Whether a group needs a communicator for a queue: it has collectives
  /// there, or none at all and the queue is the first.
  bool needs(size_t group, size_t queue) const { return uses[group][queue]; }

private:
  size_t queues = 1;
  /// [entry][collective]
  std::vector<std::vector<uint8_t>> entries;
  /// [group][queue]
  std::vector<std::array<bool, maxQueues>> uses;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COLLECTIVEQUEUES_H
