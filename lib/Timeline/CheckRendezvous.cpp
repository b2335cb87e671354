//===- CheckRendezvous.cpp - Whether calls wait for themselves ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JobQueues.h"

#include <algorithm>
#include <map>

namespace weft::timeline {

/// The waits of a call, or those for it.
static auto waitsAt(const std::vector<Wait> &waits, int32_t Wait::*column,
                    int32_t rank, int32_t value) {
  return std::ranges::equal_range(waits, std::pair(rank, value), {},
                                  [column](const Wait &wait) {
                                    return std::pair(wait.rank, wait.*column);
                                  });
}

namespace {

/// Runs the job: whatever is ready completes at once. What is left over then
/// can never run, in whichever order the rest does: nothing that completes
/// takes anything away from another.
class Rendezvous {
public:
  Rendezvous(JobIndex &index, const JobQueues &queues,
             std::vector<Completed> *completed)
      : index(index), queues(queues), completed(completed),
        column(index.job.rows.size()), head(queues.queues.size()),
        isDone(index.send.size()) {}

  bool run();

private:
  /// A message, or a rank as -1 - rank.
  std::vector<int32_t> work;

  bool hasEnded(int32_t rank, int32_t column) const;
  int32_t messageAt(int32_t rank, int32_t column) const;
  bool waits(int32_t rank, int32_t column) const;
  void wake(int32_t rank, int32_t column);
  const std::vector<int32_t> &edges(const Action &action, bool outgoing) const;
  int32_t missingInput(int32_t rank, int32_t column) const;
  bool isHead(int32_t queue, int32_t message) const;
  void advance(int32_t rank);
  void transfer(int32_t message);

  BlockedCall blocked(int32_t rank, int32_t column, int32_t &nextRank,
                      int32_t &nextColumn) const;
  BlockedCall blockedEnd(int32_t message, bool atSender, int32_t &nextRank,
                         int32_t &nextColumn) const;
  void reportCycle();

  JobIndex &index;
  const JobQueues &queues;
  std::vector<Completed> *completed;
  /// By rank, the computation that is next; all before it has ended.
  std::vector<int32_t> column;
  /// By queue, the number of messages that have ended.
  std::vector<int32_t> head;
  std::vector<char> isDone;
};

} // namespace

const std::vector<int32_t> &Rendezvous::edges(const Action &action,
                                              bool outgoing) const {
  static const std::vector<int32_t> none;
  const JobIndex::StageEdges &edges = index.edgesOf[action.stage];
  const bool isBackward = action.kind != ActionKind::Forward;
  if (action.kind == ActionKind::WeightGradient || isLevel(action.kind))
    return none;
  return outgoing ? edges.out[isBackward] : edges.in[isBackward];
}

int32_t Rendezvous::missingInput(int32_t rank, int32_t column) const {
  const Action &action = index.at(rank, column);
  for (int32_t edge : edges(action, /*outgoing=*/false)) {
    const int32_t message = index.messageOf(edge, action.microbatch);
    if (index.crossesRanks(edge) && !isDone[message])
      return message;
  }
  for (const auto &[consumer, message] :
       JobIndex::endsAt(index.onceInputs, rank, column))
    if (!isDone[message])
      return message;
  return nowhere;
}

int32_t Rendezvous::messageAt(int32_t rank, int32_t column) const {
  const Action &action = index.at(rank, column);
  return isTransfer(action.kind) ? index.messageOf(action) : nowhere;
}

bool Rendezvous::hasEnded(int32_t rank, int32_t at) const {
  const int32_t message = messageAt(rank, at);
  return message == nowhere ? at < column[rank] : bool(isDone[message]);
}

bool Rendezvous::waits(int32_t rank, int32_t at) const {
  if (queues.byWaiting.empty())
    return false;
  for (const Wait &wait : waitsAt(queues.byWaiting, &Wait::waiting, rank, at))
    if (!hasEnded(rank, wait.awaited))
      return true;
  return false;
}

/// Tries what waits for a call that has ended.
void Rendezvous::wake(int32_t rank, int32_t at) {
  if (queues.byAwaited.empty())
    return;
  for (const Wait &wait : waitsAt(queues.byAwaited, &Wait::awaited, rank, at)) {
    const int32_t message = messageAt(rank, wait.waiting);
    work.push_back(message == nowhere ? -1 - rank : message);
  }
}

bool Rendezvous::isHead(int32_t queue, int32_t message) const {
  const std::vector<int32_t> &messages = queues.queues[queue].messages;
  return size_t(head[queue]) < messages.size() &&
         messages[head[queue]] == message;
}

/// Runs the computation of a rank as far as it gets.
void Rendezvous::advance(int32_t rank) {
  const std::vector<Call> &row = index.job.rows[rank];
  int32_t &at = column[rank];
  while (size_t(at) < row.size()) {
    const Action &action = row[at].action;
    if (!isComputed(action.kind)) {
      ++at;
      continue;
    }
    const int32_t end = at + 1 + action.overlapsNext;
    for (int32_t i = at; i < end; ++i)
      if (missingInput(rank, i) != nowhere || waits(rank, i))
        return;
    const int32_t begin = at;
    at = end;
    for (int32_t i = begin; i < end; ++i) {
      if (completed)
        completed->push_back({rank, i});
      for (int32_t edge : edges(row[i].action, /*outgoing=*/true))
        if (index.crossesRanks(edge))
          work.push_back(index.messageOf(edge, row[i].action.microbatch));
      for (const auto &[producer, message] :
           JobIndex::endsAt(index.onceOutputs, rank, i))
        work.push_back(message);
      wake(rank, i);
    }
  }
}

void Rendezvous::transfer(int32_t message) {
  const int32_t from = queues.ofSender[message];
  const int32_t to = queues.ofReceiver[message];
  const int32_t sender = queues.queues[from].rank;
  const int32_t receiver = queues.queues[to].rank;
  if (isDone[message] || !isHead(from, message) || !isHead(to, message) ||
      index.producerOf(message) >= column[sender] ||
      waits(sender, index.send[message]) ||
      waits(receiver, index.receive[message]))
    return;
  isDone[message] = true;
  if (completed)
    completed->push_back({message, nowhere});
  for (int32_t queue : {from, to}) {
    const std::vector<int32_t> &messages = queues.queues[queue].messages;
    if (size_t(++head[queue]) < messages.size())
      work.push_back(messages[head[queue]]);
  }
  wake(sender, index.send[message]);
  wake(receiver, index.receive[message]);
  work.push_back(-1 - receiver);
}

bool Rendezvous::run() {
  for (int32_t rank = int32_t(column.size()); rank-- > 0;)
    work.push_back(-1 - rank);
  for (const Queue &queue : queues.queues)
    work.push_back(queue.messages.front());
  while (!work.empty()) {
    const int32_t item = work.back();
    work.pop_back();
    if (item < 0)
      advance(-1 - item);
    else
      transfer(item);
  }
  for (size_t rank = 0; rank < column.size(); ++rank)
    if (size_t(column[rank]) < index.job.rows[rank].size()) {
      reportCycle();
      return false;
    }
  // All computation ran, but a wait may hold up what nobody needs.
  for (size_t queue = 0; queue < head.size(); ++queue)
    if (size_t(head[queue]) < queues.queues[queue].messages.size()) {
      reportCycle();
      return false;
    }
  return true;
}

/// Why one end of a message that has not ended does not.
BlockedCall Rendezvous::blockedEnd(int32_t message, bool atSender,
                                   int32_t &nextRank,
                                   int32_t &nextColumn) const {
  const int32_t number =
      atSender ? queues.ofSender[message] : queues.ofReceiver[message];
  const Queue &queue = queues.queues[number];
  const int32_t at = atSender ? index.send[message] : index.receive[message];
  BlockedCall call{queue.rank, at,
                   "rank " + std::to_string(queue.rank) + ", queue " +
                       index.job.communicators[queue.communicator] + ": " +
                       describe(index, queue.rank, at)};
  nextRank = queue.rank;
  if (!isHead(number, message)) {
    const int32_t ahead = queue.messages[head[number]];
    nextColumn = index.sender(ahead) == queue.rank ? index.send[ahead]
                                                   : index.receive[ahead];
    call.text += " is queued behind " + describe(index, nextRank, nextColumn);
    return call;
  }
  for (const Wait &wait :
       waitsAt(queues.byWaiting, &Wait::waiting, queue.rank, at))
    if (!hasEnded(queue.rank, wait.awaited)) {
      nextColumn = wait.awaited;
      call.text += " waits for " + describe(index, nextRank, nextColumn);
      return call;
    }
  if (atSender && index.producerOf(message) >= column[queue.rank]) {
    nextColumn = index.producerOf(message);
    call.text +=
        " sends the result of " + describe(index, nextRank, nextColumn);
    return call;
  }
  nextRank = atSender ? index.receiver(message) : index.sender(message);
  nextColumn = atSender ? index.receive[message] : index.send[message];
  call.text += " waits for " + describe(index, nextRank, nextColumn) +
               " on rank " + std::to_string(nextRank);
  return call;
}

/// Why a call has not ended, and for which one it waits.
BlockedCall Rendezvous::blocked(int32_t rank, int32_t at, int32_t &nextRank,
                                int32_t &nextColumn) const {
  const int32_t own = messageAt(rank, at);
  if (own != nowhere)
    return blockedEnd(own, index.sender(own) == rank, nextRank, nextColumn);
  BlockedCall call{rank, at,
                   "rank " + std::to_string(rank) +
                       ", compute: " + describe(index, rank, at)};
  nextRank = rank;
  nextColumn = column[rank];
  const int32_t end = nextColumn + 1 + index.at(rank, nextColumn).overlapsNext;
  if (at >= end) {
    call.text += " is behind " + describe(index, rank, nextColumn);
    return call;
  }
  // Of the next computation, the one of a pair that cannot start yet.
  for (int32_t i = nextColumn; i < end; ++i) {
    const int32_t message = missingInput(rank, i);
    if (message != nowhere)
      nextColumn = index.receive[message];
    else if (waits(rank, i))
      for (const Wait &wait :
           waitsAt(queues.byWaiting, &Wait::waiting, rank, i)) {
        if (!hasEnded(rank, wait.awaited))
          nextColumn = wait.awaited;
      }
    else
      continue;
    break;
  }
  call.text += " needs " + describe(index, rank, nextColumn);
  return call;
}

/// Follows what waits for what from any blocked call, until a call comes again.
void Rendezvous::reportCycle() {
  int32_t rank = 0, at = 0;
  for (size_t i = 0; i < queues.queues.size(); ++i) {
    const Queue &queue = queues.queues[i];
    if (size_t(head[i]) == queue.messages.size())
      continue;
    const int32_t message = queue.messages[head[i]];
    rank = queue.rank;
    at = index.sender(message) == rank ? index.send[message]
                                       : index.receive[message];
    break;
  }
  std::vector<BlockedCall> chain;
  std::map<std::pair<int32_t, int32_t>, size_t> seen;
  while (seen.try_emplace({rank, at}, chain.size()).second) {
    int32_t nextRank = rank, nextColumn = at;
    chain.push_back(blocked(rank, at, nextRank, nextColumn));
    rank = nextRank;
    at = nextColumn;
  }
  chain.erase(chain.begin(), chain.begin() + seen[{rank, at}]);
  index.fail(Condition::C2, chain.front().rank, chain.front().column,
             shown(index.at(chain.front().rank, chain.front().column)) +
                 " waits for itself, in a cycle of " +
                 std::to_string(chain.size()) + " calls");
  index.verdict.cycle = std::move(chain);
}

bool checkRendezvous(JobIndex &index, const JobQueues &queues,
                     std::vector<Completed> *completed) {
  return Rendezvous(index, queues, completed).run();
}

} // namespace weft::timeline
