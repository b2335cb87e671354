//===- Transfers.h - Sends and receives of a table --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds to a table of computation what its ranks send to each other.
//
//   0F0,0F1,0B0,0B1        0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1
//   1F0,1B0,1F1,1B1   ->   1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_TRANSFERS_H
#define WEFT_TIMELINE_TRANSFERS_H

#include "weft/Timeline/Edge.h"
#include "weft/Timeline/Table.h"

namespace weft::timeline {

/// Where the receives stand in a row. Sends follow what they send at once.
enum class Receives {
  /// At the time of the send, as if every action took one unit of time. All
  /// rows are projections of one order of the whole job, so that even blocking
  /// calls on one communicator cannot deadlock.
  WithSend,
  /// Before the action that needs the message, but messages from one rank in
  /// the order in which it sends them. Needs a queue for each directed pair of
  /// ranks; less memory is held by what has arrived early.
  BeforeUse,
  /// The same, but before the action ahead of that one: the message travels
  /// while that action runs.
  OneAhead,
};

/// A table with transfers, or why there is none.
struct TransferredTable {
  Table table;
  std::string error;
};

/// Adds a send and a receive for each edge between stages of different ranks
/// and each micro-batch; both name the stage at the other end unless that is
/// the neighbour. `placement` has every stage of the edges. Fails if an action
/// waits, directly or through others, for one behind it in its row.
TransferredTable addTransfers(const Table &compute, const Placement &placement,
                              const std::vector<Edge> &edges,
                              Receives receives);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_TRANSFERS_H
