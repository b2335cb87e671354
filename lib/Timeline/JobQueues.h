//===- JobQueues.h - Messages in the queues of a job ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_JOBQUEUES_H
#define WEFT_TIMELINE_JOBQUEUES_H

#include "JobIndex.h"

namespace weft::timeline {

/// What one rank does on one communicator: its messages, in order.
struct Queue {
  int32_t rank = 0;
  int32_t communicator = 0;
  std::vector<int32_t> messages;
};

struct JobQueues {
  std::vector<Queue> queues;
  /// By message, the queue at either end.
  std::vector<int32_t> ofSender, ofReceiver;
  /// Columns that wait for others of their rank, sorted by either.
  std::vector<Wait> byWaiting, byAwaited;
};

/// An end of a computation or of a message, in an order of which each is behind
/// all that it waits for. A message if `column` is -1.
struct Completed {
  int32_t rankOrMessage = 0;
  int32_t column = -1;
};

JobQueues makeQueues(const JobIndex &index);

/// C1, for a job whose messages all have a send and a receive.
bool checkMatching(JobIndex &index, const JobQueues &queues);
/// C2; an order of completion is given if asked for.
bool checkRendezvous(JobIndex &index, const JobQueues &queues,
                     std::vector<Completed> *completed);
/// C8, for what was found to complete in this order.
void checkSlots(JobIndex &index, const JobQueues &queues,
                const std::vector<Completed> &completed);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_JOBQUEUES_H
