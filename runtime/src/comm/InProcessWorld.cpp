//===- InProcessWorld.cpp - Ranks that are threads ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/InProcessWorld.h"

#include "CheckRanks.h"
#include "InProcessChannel.h"
#include "InProcessCommunicator.h"

namespace weft::runtime {

class InProcessWorld::Impl {
public:
  explicit Impl(int ranks) : ranks(ranks), spin(SpinPolicy::forRanks(ranks)) {}

  void addGroup(const GroupRanks &lists);
  void addQueue(const QueueRanks &queue);

  const int ranks;
  const SpinPolicy spin;
  std::vector<std::unique_ptr<InProcessGroup>> groups;
  /// [group][world rank]; null where the rank is in no list of the group.
  std::vector<std::vector<std::unique_ptr<Communicator>>> communicators;
  std::vector<std::unique_ptr<InProcessQueue>> queues;
  /// [queue][world rank]; null where the rank is at no end.
  std::vector<std::vector<Channel *>> channels;

  std::mutex abortMutex;
  Status abortReason;
};

void InProcessWorld::Impl::addGroup(const GroupRanks &lists) {
  auto &ofRank = communicators.emplace_back(ranks);
  for (const std::vector<int> &members : lists) {
    groups.push_back(std::make_unique<InProcessGroup>(members, spin));
    for (size_t i = 0; i < members.size(); ++i)
      ofRank[members[i]] = std::make_unique<InProcessCommunicator>(
          *groups.back(), static_cast<int>(i));
  }
}

void InProcessWorld::Impl::addQueue(const QueueRanks &queue) {
  auto &ofRank = channels.emplace_back(ranks);
  for (const auto &[sender, receiver] : queue.pairs) {
    queues.push_back(std::make_unique<InProcessQueue>(sender, receiver,
                                                      queue.capacity, spin));
    ofRank[sender] = &queues.back()->sender();
    ofRank[receiver] = &queues.back()->receiver();
  }
}

Result<std::unique_ptr<InProcessWorld>>
InProcessWorld::create(int ranks, const std::vector<GroupRanks> &groups,
                       const std::vector<QueueRanks> &queues) {
  WEFT_RETURN_IF_ERROR(checkRanks(ranks, groups, queues));
  auto impl = std::make_unique<Impl>(ranks);
  for (const GroupRanks &lists : groups)
    impl->addGroup(lists);
  for (const QueueRanks &queue : queues)
    impl->addQueue(queue);
  return std::unique_ptr<InProcessWorld>(new InProcessWorld(std::move(impl)));
}

InProcessWorld::InProcessWorld(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}

InProcessWorld::~InProcessWorld() = default;

int InProcessWorld::size() const { return impl->ranks; }

Communicator *InProcessWorld::communicator(int rank, size_t group) const {
  if (group >= impl->communicators.size() || rank < 0 || rank >= impl->ranks)
    return nullptr;
  return impl->communicators[group][rank].get();
}

Channel *InProcessWorld::channel(int rank, size_t queue) const {
  if (queue >= impl->channels.size() || rank < 0 || rank >= impl->ranks)
    return nullptr;
  return impl->channels[queue][rank];
}

void InProcessWorld::abort(const Status &reason) {
  Status first;
  {
    std::lock_guard<std::mutex> lock(impl->abortMutex);
    if (impl->abortReason.ok())
      impl->abortReason =
          reason.ok() ? unavailable("the world was aborted without a reason")
                      : reason;
    first = impl->abortReason;
  }
  for (const auto &group : impl->groups)
    (void)group->fail(first);
  for (const auto &queue : impl->queues)
    (void)queue->fail(first);
}

Status InProcessWorld::status() const {
  std::lock_guard<std::mutex> lock(impl->abortMutex);
  return impl->abortReason;
}

} // namespace weft::runtime
