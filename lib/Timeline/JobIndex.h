//===- JobIndex.h - Where the checker finds actions -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by the parts of the checker only: the columns of a job's actions by
// stage and micro-batch, of its levels, and of its transfers by message. A
// message is an edge between ranks and a micro-batch, number
// edge * microbatches + micro-batch, or behind all of those a once edge. Where
// edges are counted, once edges come behind the others.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_JOBINDEX_H
#define WEFT_TIMELINE_JOBINDEX_H

#include "weft/Timeline/Check.h"

#include <span>

namespace weft::timeline {

constexpr int32_t nowhere = -1;

struct JobIndex {
  const Job &job;
  Verdict verdict;

  int32_t stages = 0;
  int32_t microbatches = 0;
  /// Whether anything computes gradients.
  bool hasBackward = false;
  /// By stage.
  std::vector<int32_t> rankOf;
  /// By stage: the edges that its forward or backward pass needs and feeds.
  struct StageEdges {
    std::vector<int32_t> in[2], out[2];
    std::vector<int32_t> onceIn, onceOut;
  };
  std::vector<StageEdges> edgesOf;

  /// Columns by stage * microbatches + micro-batch. A full backward is both.
  std::vector<int32_t> forward, inputGradient, weightGradient;
  /// Columns of a prologue or an update by stage and level.
  std::vector<std::vector<int32_t>> prologue, update;
  /// By stage, the first and the last of the columns above that are of
  /// micro-batches.
  std::vector<int32_t> firstColumn, lastColumn;
  /// Columns by message.
  std::vector<int32_t> send, receive;
  /// By rank, what of the once edges each column needs or feeds, sorted.
  struct OnceEnd {
    int32_t column = 0, message = 0;
  };
  std::vector<std::vector<OnceEnd>> onceInputs, onceOutputs;

  explicit JobIndex(const Job &job) : job(job) {}

  const std::vector<int32_t> &made(bool isBackward) const {
    return isBackward ? inputGradient : forward;
  }
  const Action &at(int32_t rank, int32_t column) const {
    return job.rows[rank][column].action;
  }
  int32_t countEdges() const { return int32_t(job.edges.size()); }
  bool isOnceEdge(int32_t edge) const { return edge >= countEdges(); }
  const OnceEdge &onceEdge(int32_t edge) const {
    return job.onceEdges[edge - countEdges()];
  }
  int32_t source(int32_t edge) const {
    return isOnceEdge(edge) ? onceEdge(edge).source : job.edges[edge].source;
  }
  int32_t destination(int32_t edge) const {
    return isOnceEdge(edge) ? onceEdge(edge).destination
                            : job.edges[edge].destination;
  }
  int64_t bytesOf(int32_t edge) const {
    return isOnceEdge(edge) ? onceEdge(edge).bytes : job.edges[edge].bytes;
  }
  bool crossesRanks(int32_t edge) const {
    return rankOf[source(edge)] != rankOf[destination(edge)];
  }
  /// The edge of a transfer, or `nowhere`.
  int32_t edgeOf(const Action &action) const;

  int32_t messageOf(int32_t edge, int32_t microbatch) const {
    return isOnceEdge(edge) ? countEdges() * microbatches + edge - countEdges()
                            : edge * microbatches + microbatch;
  }
  int32_t messageOf(const Action &transfer) const {
    return messageOf(edgeOf(transfer), transfer.microbatch);
  }
  int32_t edgeOfMessage(int32_t message) const {
    const int32_t once = message - countEdges() * microbatches;
    return once >= 0 ? countEdges() + once : message / microbatches;
  }
  int32_t sender(int32_t message) const {
    return rankOf[source(edgeOfMessage(message))];
  }
  int32_t receiver(int32_t message) const {
    return rankOf[destination(edgeOfMessage(message))];
  }
  /// The column that computes what a message carries, on the rank of its
  /// source.
  int32_t producerOf(int32_t message) const;
  /// The first column that needs it, at its destination; `nowhere` if none.
  int32_t consumerOf(int32_t message) const;
  /// The messages of once edges that a column needs or feeds.
  static std::span<const OnceEnd>
  endsAt(const std::vector<std::vector<OnceEnd>> &ends, int32_t rank,
         int32_t column);

  void fail(Condition condition, int32_t rank, int32_t column,
            std::string text);
};

/// Whether it runs on the compute stream, in its order.
inline bool isComputed(ActionKind kind) {
  return isCompute(kind) || isLevel(kind);
}

/// As it stands in a table, where the peer is not named if it is the neighbour.
std::string shown(const Action &action);
/// `ROW:COLUMN`, from 1.
std::string place(int32_t rank, int32_t column);

/// `0SEND_F1 (1:4)`.
std::string describe(const JobIndex &index, int32_t rank, int32_t column);

/// Fills the index; whether nothing is missing, double or on a wrong rank.
bool indexJob(JobIndex &index);
/// That each action of a complete job is behind its inputs, and C9.
void checkOrder(JobIndex &index);
/// That levels are in order, and micro-batches between them.
void checkLevels(JobIndex &index);
/// Gathers of parameters and reductions of gradients.
void checkParameters(JobIndex &index);
/// C3 of a job for which all this and C1 hold, noted in the verdict.
void checkBlockingCalls(JobIndex &index);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_JOBINDEX_H
