//===- CheckSlots.cpp - Whether a slot is reused too early ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JobQueues.h"

#include <algorithm>
#include <map>

namespace weft::timeline {

namespace {

/// That one use of a slot ends before another micro-batch writes to it.
struct Demand {
  int32_t rank, slot;
  int32_t use, write; // columns
};

/// For each node of the job, how much of one chain has ended when it starts or
/// ends. A chain is what a rank computes, or a queue. Both ends of a transfer
/// start and end apart: that what was sent has arrived does not say that the
/// sender's buffer is free.
class Reach {
public:
  Reach(const JobIndex &index, const JobQueues &queues,
        const std::vector<Completed> &completed)
      : index(index), queues(queues), completed(completed),
        starts{std::vector<int32_t>(index.send.size()),
               std::vector<int32_t>(index.send.size())},
        ends{starts[0], starts[1]} {
    for (const std::vector<Call> &row : index.job.rows) {
      computeStarts.emplace_back(row.size(), nowhere);
      computeEnds.emplace_back(row.size(), nowhere);
    }
  }

  /// Follows the chain of a rank's computation, or of one of its queues.
  void follow(int32_t rank, int32_t queue);
  /// How far the chain is known to have come when the call in a column starts.
  int32_t atStart(int32_t rank, int32_t column) const;
  /// The position of a call in its chain, from 0.
  int32_t position(int32_t rank, int32_t column) const;
  /// The queue of a transfer, or `nowhere`.
  int32_t queueOf(int32_t rank, int32_t column) const;

private:
  int32_t atEnd(int32_t rank, int32_t column) const;
  int32_t afterWaits(int32_t rank, int32_t column) const;
  void compute(int32_t rank, int32_t column);
  void transfer(int32_t message);

  const JobIndex &index;
  const JobQueues &queues;
  const std::vector<Completed> &completed;

  int32_t chainRank = nowhere, chainQueue = nowhere;
  /// By message, for the receiver and for the sender.
  std::vector<int32_t> starts[2], ends[2];
  std::vector<std::vector<int32_t>> computeStarts, computeEnds;
  /// By rank and queue, of the last call of each.
  std::vector<int32_t> lastCompute, lastInQueue, countInQueue;
};

} // namespace

int32_t Reach::queueOf(int32_t rank, int32_t column) const {
  const Action &action = index.at(rank, column);
  if (!isTransfer(action.kind))
    return nowhere;
  return (isSend(action.kind) ? queues.ofSender
                              : queues.ofReceiver)[index.messageOf(action)];
}

int32_t Reach::position(int32_t rank, int32_t column) const {
  const int32_t queue = queueOf(rank, column);
  if (queue == nowhere)
    return column;
  const std::vector<int32_t> &messages = queues.queues[queue].messages;
  return int32_t(
      std::ranges::find(messages, index.messageOf(index.at(rank, column))) -
      messages.begin());
}

int32_t Reach::atStart(int32_t rank, int32_t column) const {
  const Action &action = index.at(rank, column);
  if (isTransfer(action.kind))
    return starts[isSend(action.kind)][index.messageOf(action)];
  return computeStarts[rank][column];
}

int32_t Reach::atEnd(int32_t rank, int32_t column) const {
  const Action &action = index.at(rank, column);
  if (isTransfer(action.kind))
    return ends[isSend(action.kind)][index.messageOf(action)];
  return computeEnds[rank][column];
}

int32_t Reach::afterWaits(int32_t rank, int32_t column) const {
  int32_t reached = nowhere;
  const auto waits = std::ranges::equal_range(
      queues.byWaiting, std::pair(rank, column), {},
      [](const Wait &wait) { return std::pair(wait.rank, wait.waiting); });
  for (const Wait &wait : waits)
    reached = std::max(reached, atEnd(rank, wait.awaited));
  return reached;
}

void Reach::compute(int32_t rank, int32_t column) {
  const Action &action = index.at(rank, column);
  const bool isSecond = column > 0 && index.at(rank, column - 1).overlapsNext;
  int32_t reached = lastCompute[rank];
  if (isCompute(action.kind) && action.kind != ActionKind::WeightGradient)
    for (int32_t edge :
         index.edgesOf[action.stage].in[action.kind != ActionKind::Forward])
      if (index.crossesRanks(edge))
        reached = std::max(reached,
                           ends[0][index.messageOf(edge, action.microbatch)]);
  for (const auto &[consumer, message] :
       JobIndex::endsAt(index.onceInputs, rank, column))
    reached = std::max(reached, ends[0][message]);
  reached = std::max(reached, afterWaits(rank, column));
  // A pair starts and ends as one; what its first waits for, both do.
  if (isSecond)
    reached = std::max(reached, computeStarts[rank][column - 1]);
  computeStarts[rank][column] = reached;
  if (isSecond)
    computeStarts[rank][column - 1] = reached;
  if (rank == chainRank && chainQueue == nowhere)
    reached = std::max(reached, column);
  computeEnds[rank][column] = reached;
  if (isSecond)
    computeEnds[rank][column - 1] = reached;
  if (!action.overlapsNext)
    lastCompute[rank] = reached;
}

void Reach::transfer(int32_t message) {
  for (bool sends : {false, true}) {
    const int32_t queue =
        (sends ? queues.ofSender : queues.ofReceiver)[message];
    const int32_t rank = queues.queues[queue].rank;
    const int32_t column = (sends ? index.send : index.receive)[message];
    int32_t reached = std::max(lastInQueue[queue], afterWaits(rank, column));
    if (sends)
      reached = std::max(reached, computeEnds[rank][index.producerOf(message)]);
    starts[sends][message] = reached;
  }
  const int32_t both = std::max(starts[0][message], starts[1][message]);
  for (bool sends : {false, true}) {
    const int32_t queue =
        (sends ? queues.ofSender : queues.ofReceiver)[message];
    const int32_t own = countInQueue[queue]++;
    ends[sends][message] = queue == chainQueue ? std::max(both, own) : both;
    lastInQueue[queue] = ends[sends][message];
  }
}

void Reach::follow(int32_t rank, int32_t queue) {
  chainRank = rank;
  chainQueue = queue;
  lastCompute.assign(index.job.rows.size(), nowhere);
  lastInQueue.assign(queues.queues.size(), nowhere);
  countInQueue.assign(queues.queues.size(), 0);
  for (const Completed &item : completed) {
    if (item.column == nowhere)
      transfer(item.rankOrMessage);
    else
      compute(item.rankOrMessage, item.column);
  }
}

/// The columns of a use must be of one rank and in order, and the first write.
static bool isUse(JobIndex &index, const SlotUse &use) {
  const bool isRight =
      use.rank >= 0 && size_t(use.rank) < index.job.rows.size() &&
      !use.columns.empty() && use.columns.front() >= 0 &&
      size_t(use.columns.back()) < index.job.rows[use.rank].size() &&
      std::ranges::is_sorted(use.columns, std::less_equal()) &&
      std::ranges::all_of(
          use.columns,
          [&](int32_t column) {
            const ActionKind kind = index.at(use.rank, column).kind;
            return isComputed(kind) || isTransfer(kind);
          });
  if (!isRight || isSend(index.at(use.rank, use.columns.front()).kind)) {
    index.fail(Condition::C8, use.rank, nowhere,
               "a use of slot " + std::to_string(use.slot) +
                   " must name actions of one row in order, a write first");
    return false;
  }
  return true;
}

/// Whether the order of a stream or a queue, or one wait, is enough for a
/// demand. Most are that simple; the others need all of the job to be followed.
static bool isImplied(const JobIndex &index, const JobQueues &queues,
                      const Demand &demand) {
  const auto at = [&](int32_t column) -> const Action & {
    return index.at(demand.rank, column);
  };
  const auto waits = std::ranges::equal_range(
      queues.byWaiting, std::pair(demand.rank, demand.write), {},
      [](const Wait &wait) { return std::pair(wait.rank, wait.waiting); });
  const Action &use = at(demand.use), &write = at(demand.write);
  for (const Wait &wait : waits)
    if (wait.awaited == demand.use)
      return true;
  if (isSend(use.kind))
    return false;
  // What is received has ended when it is used.
  int32_t column = demand.use;
  if (isTransfer(use.kind)) {
    column = index.consumerOf(index.messageOf(use));
    if (column == nowhere)
      return false;
  }
  if (isComputed(write.kind))
    return column < demand.write &&
           !(column + 1 == demand.write && at(column).overlapsNext);
  return std::ranges::any_of(waits, [&](const Wait &wait) {
    return isComputed(at(wait.awaited).kind) && wait.awaited >= column;
  });
}

/// What must have ended before each write to a slot that was used before.
static std::vector<Demand> demandsOf(JobIndex &index) {
  std::map<std::pair<int32_t, int32_t>, std::vector<const SlotUse *>> slots;
  for (const SlotUse &use : index.job.slotUses)
    if (isUse(index, use))
      slots[{use.rank, use.slot}].push_back(&use);
  std::vector<Demand> demands;
  for (auto &[slot, uses] : slots) {
    std::ranges::sort(uses, {}, [](const SlotUse *use) -> const auto & {
      return use->columns;
    });
    for (size_t i = 1; i < uses.size(); ++i)
      for (int32_t column : uses[i - 1]->columns)
        demands.push_back(
            {slot.first, slot.second, column, uses[i]->columns.front()});
  }
  return demands;
}

void checkSlots(JobIndex &index, const JobQueues &queues,
                const std::vector<Completed> &completed) {
  const int64_t before = index.verdict.problemCount;
  Reach reach(index, queues, completed);
  // Grouped by the chain of the use: each chain is followed once.
  std::map<std::pair<int32_t, int32_t>, std::vector<Demand>> chains;
  for (const Demand &demand : demandsOf(index))
    if (!isImplied(index, queues, demand))
      chains[{demand.rank, reach.queueOf(demand.rank, demand.use)}].push_back(
          demand);
  for (const auto &[chain, demands] : chains) {
    reach.follow(chain.first, chain.second);
    for (const Demand &demand : demands) {
      const int32_t rank = demand.rank;
      if (reach.atStart(rank, demand.write) >= reach.position(rank, demand.use))
        continue;
      index.fail(Condition::C8, rank, demand.write,
                 shown(index.at(rank, demand.write)) + " writes slot " +
                     std::to_string(demand.slot) +
                     ", which may still be in use by " +
                     shown(index.at(rank, demand.use)) + " at " +
                     place(rank, demand.use));
    }
  }
  if (index.verdict.problemCount == before)
    index.verdict.proved.push_back(Condition::C8);
}

} // namespace weft::timeline
