//===- CheckMatching.cpp - Whether sends meet their receives --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JobQueues.h"

#include <algorithm>
#include <map>

namespace weft::timeline {

JobQueues makeQueues(const JobIndex &index) {
  JobQueues result;
  result.ofSender.assign(index.send.size(), nowhere);
  result.ofReceiver.assign(index.receive.size(), nowhere);
  for (size_t rank = 0; rank < index.job.rows.size(); ++rank) {
    std::vector<int32_t> queueOf(index.job.communicators.size(), nowhere);
    for (const Call &call : index.job.rows[rank]) {
      if (!isTransfer(call.action.kind))
        continue;
      int32_t &queue = queueOf[call.communicator];
      if (queue == nowhere) {
        queue = int32_t(result.queues.size());
        result.queues.push_back({int32_t(rank), call.communicator, {}});
      }
      const int32_t message = index.messageOf(call.action);
      result.queues[queue].messages.push_back(message);
      (isSend(call.action.kind) ? result.ofSender
                                : result.ofReceiver)[message] = queue;
    }
  }
  result.byWaiting = result.byAwaited = index.job.waits;
  std::ranges::sort(result.byWaiting, {}, [](const Wait &wait) {
    return std::pair(wait.rank, wait.waiting);
  });
  std::ranges::sort(result.byAwaited, {}, [](const Wait &wait) {
    return std::pair(wait.rank, wait.awaited);
  });
  return result;
}

namespace {

/// From one queue to another, the messages in the order of either end.
struct Channel {
  std::vector<int32_t> sent, received;
};

} // namespace

/// The two calls of one message, alone.
static void checkCalls(JobIndex &index, const JobQueues &queues,
                       int32_t message) {
  const int32_t from = index.sender(message), to = index.receiver(message);
  const int32_t column = index.receive[message];
  const Call &send = index.job.rows[from][index.send[message]];
  const Call &receive = index.job.rows[to][column];
  const auto differ = [&](const char *what, const auto &left,
                          const auto &right) {
    index.fail(Condition::C1, to, column,
               shown(receive.action) + " and " + shown(send.action) + " at " +
                   place(from, index.send[message]) + " differ in " + what +
                   ": " + right + " and " + left);
  };
  const int32_t sends = queues.queues[queues.ofSender[message]].communicator;
  const int32_t receives =
      queues.queues[queues.ofReceiver[message]].communicator;
  if (sends != receives)
    differ("communicator", index.job.communicators[sends],
           index.job.communicators[receives]);
  const int64_t declared = index.bytesOf(index.edgeOfMessage(message));
  if (send.bytes != receive.bytes)
    differ("bytes", std::to_string(send.bytes), std::to_string(receive.bytes));
  else if (declared != 0 && send.bytes != declared)
    index.fail(Condition::C1, from, index.send[message],
               shown(send.action) + " sends " + std::to_string(send.bytes) +
                   " bytes, the edge carries " + std::to_string(declared));
  if (send.elementType != receive.elementType)
    differ("element type", std::to_string(send.elementType),
           std::to_string(receive.elementType));
}

bool checkMatching(JobIndex &index, const JobQueues &queues) {
  const int64_t before = index.verdict.problemCount;
  std::map<std::pair<int32_t, int32_t>, Channel> channels;
  for (size_t number = 0; number < queues.queues.size(); ++number) {
    const Queue &queue = queues.queues[number];
    // Found again only where the next message is of other ranks.
    Channel *channel = nullptr;
    std::pair<int32_t, int32_t> ends(nowhere, nowhere);
    for (int32_t message : queue.messages) {
      const std::pair now(queues.ofSender[message], queues.ofReceiver[message]);
      if (now != ends) {
        ends = now;
        channel = &channels[now];
      }
      if (ends.first == int32_t(number)) {
        channel->sent.push_back(message);
        checkCalls(index, queues, message);
      } else {
        channel->received.push_back(message);
      }
    }
  }
  if (index.verdict.problemCount != before)
    return false;
  for (const auto &[ends, channel] : channels) {
    const auto [sent, received] =
        std::ranges::mismatch(channel.sent, channel.received);
    if (sent == channel.sent.end())
      continue;
    const int32_t from = index.sender(*sent), to = index.receiver(*received);
    const int32_t sendColumn = index.send[*sent];
    const int32_t column = index.receive[*received];
    index.fail(
        Condition::C1, to, column,
        shown(index.at(to, column)) + " meets " +
            shown(index.at(from, sendColumn)) + " at " +
            place(from, sendColumn) + ": transfer " +
            std::to_string(sent - channel.sent.begin() + 1) + " from rank " +
            std::to_string(from) + " to rank " + std::to_string(to) +
            " on communicator " +
            index.job.communicators[queues.queues[ends.first].communicator]);
  }
  return index.verdict.problemCount == before;
}

} // namespace weft::timeline
