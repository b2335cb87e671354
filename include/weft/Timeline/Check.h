//===- Check.h - Whether a timeline can deadlock or mix up data -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Judges the rows of a whole job, whoever wrote them: nothing here knows how
// schedules are made. The model is strict rendezvous. Each rank has a compute
// stream that runs its row in order. Sends and receives are issued in the order
// of the row, each on the queue of its communicator, and run there one after
// the other, beside the computation. Neither side of a transfer ends before
// both have started; a send starts when its data is there; an action starts
// when all that it needs has been received.
//
//   Order  every forward, input and weight gradient once, behind its inputs;
//          levels of a prologue before them and of an update behind them;
//          gradients that are reduced by an action of their own between the
//          last weight gradient and the update, which waits for that; what is
//          gathered for a pass behind the pass before and ahead of its own
//   C1     on each communicator the k-th send to a rank is the k-th receive
//          there: same value, micro-batch, bytes and element type
//   C2     nothing waits for itself: no deadlock as long as whatever is ready
//          can run
//   C3     no deadlock even if each rank runs one call at a time, in its order
//   C8     no slot is written while another micro-batch uses it
//   C9     weight gradients are summed in the order of the micro-batches
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_CHECK_H
#define WEFT_TIMELINE_CHECK_H

#include "weft/Timeline/Edge.h"
#include "weft/Timeline/Table.h"

#include <cstddef>
#include <functional>
#include <optional>

namespace weft::timeline {

/// An action and, of a transfer, all that its call says.
struct Call {
  /// Of a transfer with the stage at the other end, even a neighbour.
  Action action;
  int32_t peerRank = -1;
  int32_t communicator = -1;
  int32_t elementType = 0;
  int64_t bytes = 0;
};

/// A call that starts only when another of its rank has ended, for what the
/// order of the row and the transfers do not imply.
struct Wait {
  int32_t rank = 0;
  /// Columns of the row, from 0.
  int32_t waiting = 0;
  int32_t awaited = 0;
};

/// What a micro-batch does in a slot: the columns of the actions that touch it,
/// ascending. The first one writes.
struct SlotUse {
  int32_t rank = 0;
  int32_t slot = 0;
  std::vector<int32_t> columns;
};

/// What gathers (UNSHARD, UNSHARD_F, UNSHARD_B) or a REDUCE_GRAD that runs
/// beside the calls behind it, until one of them waits for it.
struct Deferred {
  int32_t rank = 0;
  /// Columns of the row: its own, the first call that starts only when it has
  /// ended (that behind the last if none does), and the calls that use its
  /// memory.
  int32_t column = 0;
  int32_t awaitedBy = 0;
  std::vector<int32_t> users;
};

struct Job {
  std::vector<std::vector<Call>> rows;
  /// What has to be done: the micro-batches of the step, and what crosses
  /// between stages for each of them.
  int32_t microbatches = 0;
  std::vector<Edge> edges;
  /// What crosses once a step, and by stage how many levels its prologue and
  /// its update have (none behind the last that is given).
  std::vector<OnceEdge> onceEdges;
  std::vector<int32_t> prologueLevels, updateLevels;
  /// Of the communicators, by their number.
  std::vector<std::string> communicators;
  /// The stages whose parameters are gathered before they are used; they are
  /// freed at the end, unless they are gathered once and kept.
  std::vector<int32_t> shardedStages;
  /// The passes for each micro-batch of which an action of its own gathers.
  std::vector<GatheredPass> gatheredPasses;
  /// The stages whose gradients are reduced, once, by an action of their own.
  std::vector<int32_t> reducedStages;
  std::vector<Deferred> deferred;
  /// In which micro-batches add to the gradients of a stage; empty: ascending.
  std::vector<int32_t> gradientOrder;
  std::vector<Wait> waits;
  std::vector<SlotUse> slotUses;
  /// The line of the model that an action comes from, for messages; empty if
  /// none is known.
  std::function<std::string(const Action &)> lineOf;
};

/// Which transfers share a communicator, and with it a queue on each rank.
enum class Communicators {
  One,          // all
  RankPair,     // those between the same two ranks
  DirectedPair, // those from one rank to another
  /// Those of one edge; and those from one rank to another that are once a
  /// step.
  Edge,
};

/// The calls of a table with transfers, and the micro-batches, the gathers and
/// the reductions that it has, and the levels and once edges of its transfers.
/// A stage is on the rank that computes it. Without edges, these are all
/// between neighbours.
Job makeJob(const Table &table, Communicators communicators,
            std::optional<std::vector<Edge>> edges = {});

enum class Condition : uint8_t { Order, C1, C2, C3, C8, C9 };

/// What is wrong, and where: counted from 0, -1 where it is at no place.
struct Problem {
  Condition condition = Condition::Order;
  int32_t rank = -1;
  int32_t column = -1;
  std::string text;
};

/// A call of a cycle, with what it waits for: the next one, the last one for
/// the first.
struct BlockedCall {
  int32_t rank = 0;
  int32_t column = 0;
  std::string text;
};

struct Verdict {
  /// The first hundred; none if the job is safe.
  std::vector<Problem> problems;
  int64_t problemCount = 0;
  /// Why C2 does not hold; if it does, why C3 does not.
  std::vector<BlockedCall> cycle;
  std::vector<Condition> proved;

  int32_t stages = 0, microbatches = 0;
  /// Of all prologues and updates.
  int64_t levels = 0;
  int64_t actions = 0, messages = 0, queues = 0;
  /// Between stages of different ranks.
  int64_t edges = 0;

  bool isSafe() const { return problems.empty() && has(Condition::C2); }
  bool has(Condition condition) const;
};

/// C3 is no condition for safety: where it does not hold, communication needs
/// queues that run at the same time.
Verdict check(const Job &job);

/// The certificate, or one line `FILE:ROW:COLUMN: problem` for each problem and
/// the cycle. Rows and columns count from 1.
std::string print(const Verdict &verdict, std::string_view file);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_CHECK_H
