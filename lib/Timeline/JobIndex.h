//===- JobIndex.h - Where the checker finds actions -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by the parts of the checker only: the columns of a job's actions by
// stage and micro-batch, and of its transfers by message. A message is an edge
// between ranks and a micro-batch: number edge * microbatches + micro-batch.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_JOBINDEX_H
#define WEFT_TIMELINE_JOBINDEX_H

#include "weft/Timeline/Check.h"

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
  };
  std::vector<StageEdges> edgesOf;

  /// Columns by stage * microbatches + micro-batch. A full backward is both.
  std::vector<int32_t> forward, inputGradient, weightGradient;
  /// Columns by message.
  std::vector<int32_t> send, receive;

  explicit JobIndex(const Job &job) : job(job) {}

  const std::vector<int32_t> &made(bool isBackward) const {
    return isBackward ? inputGradient : forward;
  }
  const Action &at(int32_t rank, int32_t column) const {
    return job.rows[rank][column].action;
  }
  int32_t messageOf(int32_t edge, int32_t microbatch) const {
    return edge * microbatches + microbatch;
  }
  int32_t sender(int32_t message) const {
    return rankOf[job.edges[message / microbatches].source];
  }
  int32_t receiver(int32_t message) const {
    return rankOf[job.edges[message / microbatches].destination];
  }
  bool crossesRanks(int32_t edge) const {
    return rankOf[job.edges[edge].source] !=
           rankOf[job.edges[edge].destination];
  }
  /// The edge of a transfer, or `nowhere`.
  int32_t edgeOf(const Action &action) const;

  void fail(Condition condition, int32_t rank, int32_t column,
            std::string text);
};

inline bool isSend(ActionKind kind) {
  return kind == ActionKind::SendForward || kind == ActionKind::SendBackward;
}

/// As it stands in a table, where the peer is not named if it is the neighbour.
std::string shown(Action action);
/// `ROW:COLUMN`, from 1.
std::string place(int32_t rank, int32_t column);

/// `0SEND_F1 (1:4)`.
std::string describe(const JobIndex &index, int32_t rank, int32_t column);

/// Fills the index; whether nothing is missing, double or on a wrong rank.
bool indexJob(JobIndex &index);
/// That each action of a complete job is behind its inputs, and C9.
void checkOrder(JobIndex &index);
/// Gathers of parameters and reductions of gradients.
void checkParameters(JobIndex &index);
/// C3 of a job for which all this and C1 hold, noted in the verdict.
void checkBlockingCalls(JobIndex &index);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_JOBINDEX_H
