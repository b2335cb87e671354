//===- TimelineParts.cpp - A timeline bound to the memory of a rank -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/TimelineParts.h"

#include <algorithm>

namespace weft::runtime {

uint32_t TimelineParts::actionAt(uint32_t position) const {
  const auto next =
      std::ranges::upper_bound(actions, position, {}, &ActionBegin::position);
  return next == actions.begin() ? 0 : std::prev(next)->action;
}

std::vector<QueueRanks> queueRanks(const PipelineQueues &queues,
                                   const Roles &roles, int64_t ranks) {
  std::vector<QueueRanks> lists;
  for (const PipelineQueues::Queue &queue : queues.all())
    lists.push_back(
        {rankPairs(queue, roles, ranks), std::max<size_t>(queue.capacity, 1)});
  return lists;
}

Transfer transferOf(const plan::Plan &plan, const plan::Timeline &timeline,
                    uint32_t role, uint32_t index, std::byte *arena,
                    std::chrono::nanoseconds timeout) {
  const plan::Action &action =
      *timeline.rows()->Get(role)->actions()->Get(index);
  const plan::Message &message = *timeline.messages()->Get(action.index());
  Transfer transfer;
  for (uint32_t number : action.kind() == plan::ActionKind::Send
                             ? *message.source_states()
                             : *message.destination_states()) {
    const plan::State &state = *plan.states()->Get(number);
    const DType dtype = dtypeOf(state.type()->dtype());
    size_t bytes = byteSize(dtype);
    for (int64_t extent : *state.type()->local_shape())
      bytes *= static_cast<size_t>(extent);
    transfer.parts.push_back(
        {arena + offsetOf(state, action.microbatch()), bytes, dtype});
  }
  transfer.message = action.index();
  transfer.microbatch = action.microbatch();
  transfer.label = view(message.label());
  transfer.role = role;
  transfer.action = index;
  transfer.timeout = timeout;
  return transfer;
}

std::vector<uint32_t> slotsOf(const plan::Plan &plan, const plan::Action &run) {
  std::vector<uint32_t> slots;
  for (const plan::Buffer *buffer :
       *plan.entries()->Get(run.index())->buffers())
    if (buffer->slots() != 1)
      slots.push_back(run.microbatch() % buffer->slots());
  return slots;
}

} // namespace weft::runtime
