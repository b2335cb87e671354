//===- LoopbackWorld.cpp - Ranks that share one GPU -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/comm/LoopbackWorld.h"

#include "cuda/comm/LoopbackChannel.h"
#include "cuda/comm/LoopbackCommunicator.h"

#include <fmt/format.h>

#include <numeric>

namespace weft::runtime {

LoopbackWorld::LoopbackWorld(BlockKernels kernels, int ranks,
                             CollectiveQueues queues,
                             std::chrono::nanoseconds deadline)
    : kernels(std::move(kernels)), queueTable(std::move(queues)),
      deadline(deadline), numbers(ranks) {
  std::iota(numbers.begin(), numbers.end(), 0);
}

LoopbackWorld::~LoopbackWorld() = default;

Status LoopbackWorld::addGroup(const Cudart &cudart, const GroupRanks &lists) {
  auto &ofRank = communicators.emplace_back(size());
  for (const std::vector<int> &members : lists) {
    if (members.size() > maxReduceSources)
      return unimplemented(fmt::format(
          "ranks that share one GPU meet in groups of at most {}, this one has "
          "{}; run one rank a GPU",
          maxReduceSources, members.size()));
    groups.push_back(
        std::make_unique<LoopbackGroup>(members, SpinPolicy::forRanks(size())));
    LoopbackGroup &group = *groups.back();
    WEFT_RETURN_IF_ERROR(group.createEvents(cudart));
    for (size_t i = 0; i < members.size(); ++i)
      ofRank[members[i]] = std::make_unique<LoopbackCommunicator>(
          cudart, kernels, group, static_cast<int>(i), deadline);
  }
  return {};
}

Status LoopbackWorld::addQueue(const Cudart &cudart, const QueueRanks &queue) {
  auto &ofRank = channels.emplace_back(size());
  for (const auto &[sender, receiver] : queue.pairs) {
    WEFT_ASSIGN_OR_RETURN(StreamOwner stream, createStream(cudart, -1));
    pipelineQueues.push_back(std::make_unique<LoopbackQueue>(
        cudart, std::move(stream), sender, receiver, queue.capacity,
        SpinPolicy::forRanks(size())));
    InProcessQueue &hosts = pipelineQueues.back()->hosts;
    ofRank[sender] = std::make_unique<LoopbackChannel>(hosts.sender());
    ofRank[receiver] = std::make_unique<LoopbackChannel>(hosts.receiver());
  }
  return {};
}

Result<std::unique_ptr<LoopbackWorld>> LoopbackWorld::create(
    const Cudart &cudart, int ranks, const std::vector<GroupRanks> &groups,
    CollectiveQueues queues, std::chrono::nanoseconds deadline,
    const std::vector<QueueRanks> &pipelineQueues) {
  WEFT_ASSIGN_OR_RETURN(BlockKernels kernels, BlockKernels::load(cudart));
  std::unique_ptr<LoopbackWorld> world(new LoopbackWorld(
      std::move(kernels), ranks, std::move(queues), deadline));
  for (size_t i = 0; i < groups.size(); ++i)
    WEFT_RETURN_IF_ERROR(world->addGroup(cudart, groups[i])
                             .withContext(fmt::format("group {}", i)));
  for (const QueueRanks &queue : pipelineQueues)
    WEFT_RETURN_IF_ERROR(world->addQueue(cudart, queue));
  world->groups.push_back(std::make_unique<LoopbackGroup>(
      world->numbers, SpinPolicy::forRanks(ranks)));
  world->everyone = world->groups.back().get();
  return world;
}

DeviceCommunicator *LoopbackWorld::communicator(int rank, size_t group,
                                                size_t) const {
  return communicators[group][rank].get();
}

DeviceChannel *LoopbackWorld::channel(int rank, size_t queue) const {
  return channels[queue][rank].get();
}

Status LoopbackWorld::meetAll(int rank, std::chrono::nanoseconds timeout) {
  WEFT_RETURN_IF_ERROR(everyone->hosts.meet(rank, Call(), timeout));
  everyone->hosts.leave(rank);
  return {};
}

Status LoopbackWorld::localBarrier(int rank) {
  return meetAll(rank, std::chrono::nanoseconds::max());
}

Status LoopbackWorld::barrier(int rank) { return meetAll(rank, deadline); }

void LoopbackWorld::abort(const Status &reason) {
  for (const auto &group : groups)
    (void)group->hosts.fail(reason);
  for (const auto &queue : pipelineQueues)
    (void)queue->hosts.fail(reason);
}

Status LoopbackWorld::status() const { return everyone->hosts.failure(); }

} // namespace weft::runtime
