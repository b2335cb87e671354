//===- StepRows.h - All that the ranks of a step do -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of a whole training step: the micro-batches of a schedule, before
// them what is computed once for all of them (prologue), and behind them what
// their sums are needed for (update): reductions, a global norm, the optimizer.
// Of a rank with several stages, those that begin after the others can gather
// their parameters meanwhile (UNSHARD), and those that are done before the
// others reduce their gradients (REDUCE_GRAD). A pass whose parameters are
// gathered anew for each micro-batch has the first of them gathered while the
// rank does something else, or nothing (UNSHARD_F, UNSHARD_B).
//
// Either is computed in levels. What another stage needs crosses behind a level
// and is there in the next one. A parameter that the first and the last of two
// stages share, held by the first: its gradient goes down behind level 0 of the
// update, the new parameter up behind level 1.
//
//   0F0,0B0   ->   0F0,0SEND_F0,0RECV_B0,0B0,0U0,0RECV_U0<1,0U1,0SEND_U1>1
//   1F0,1B0        1RECV_F0,1F0,1B0,1SEND_B0,1U0,1SEND_U0>0,1U1,1RECV_U1<0,1U2
//
// with updateLevels = {2, 3}, onceEdges = {{1, 0, true, 0}, {0, 1, true, 1}}.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_STEPROWS_H
#define WEFT_TIMELINE_STEPROWS_H

#include "weft/Timeline/Check.h"
#include "weft/Timeline/Transfers.h"

namespace weft::timeline {

/// What the stages of a step compute and exchange.
struct StepShape {
  /// Of every stage.
  Placement placement;
  int32_t microbatches = 0;
  /// By stage, how many levels there are: 0 to n - 1. None behind the last
  /// stage that is given.
  std::vector<int32_t> prologueLevels, updateLevels;
  /// The stages whose parameters are gathered, once, by an action of their own
  /// that goes on beside the stages before.
  std::vector<int32_t> gatheredStages;
  /// The passes for which an action of their own gathers, for each micro-batch,
  /// what they need first.
  std::vector<GatheredPass> gatheredPasses;
  /// The stages whose gradients are reduced by an action of their own, as soon
  /// as the last micro-batch has added to them.
  std::vector<int32_t> reducedStages;
  /// Of each micro-batch.
  std::vector<Edge> edges;
  /// Not more than one from a level of a stage to another stage.
  std::vector<OnceEdge> onceEdges;

  /// Whether two stages exchange by messages: not if they are on one rank.
  bool crossesRanks(int32_t source, int32_t destination) const {
    return placement[source] != placement[destination];
  }
};

/// The rows of the step, of a table that has only what addTransfers takes: on
/// each rank the levels of the prologue, the table with its transfers, and the
/// levels of the update. UNSHARDs stand in front of the micro-batches, in the
/// order of their first use, an UNSHARD_F or UNSHARD_B one action ahead of its
/// pass (see addPassGathers), a REDUCE_GRAD behind the last weight gradient
/// of its stage and what that sends. The levels of all ranks and what they
/// exchange are projections of one order of the whole job. Fails like
/// addTransfers, and if a once edge comes from a level that its stage does not
/// have.
TransferredTable makeStepRows(const Table &compute, const StepShape &shape,
                              Receives receives = Receives::BeforeUse);

/// The queue of each message. With one for each edge, messages wait only for
/// those of the same stages. What is sent once a step has a queue of its own
/// from one rank to another, for prologue and update together: it waits for no
/// micro-batch, and many stages that exchange a number each do not need a queue
/// for each edge.
struct StepQueues {
  /// By edge and by once edge; -1 for those between stages of one rank. Every
  /// queue goes from one rank to one other, unless the policy is `One` or
  /// `RankPair`.
  std::vector<int32_t> ofEdge, ofOnceEdge;
  /// Of the queues, by their number.
  std::vector<std::string> names;
};
StepQueues assignQueues(const StepShape &shape,
                        Communicators policy = Communicators::Edge);

/// The job of a step: what `table` does, and what `shape` demands of it. Its
/// communicators are the queues that assignQueues gives.
Job makeJob(const Table &table, const StepShape &shape,
            Communicators policy = Communicators::Edge);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_STEPROWS_H
