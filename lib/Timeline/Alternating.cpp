//===- Alternating.cpp - 1F1B and its relatives ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generators.h"

#include "RowWriter.h"

#include <algorithm>

namespace weft::timeline {
namespace {

/// What distinguishes the schedules whose ranks start with some forwards, then
/// alternate forwards and backwards, and end with the other backwards.
struct Alternation {
  /// Forwards before the first backward.
  int32_t warmup = 0;
  bool splitsBackward = false;
  /// The weight gradients lag behind the input gradients by so many.
  int32_t lag = 0;
};

Row alternate(ScheduleSize size, int32_t rank, Alternation shape) {
  const int32_t total = size.microbatches * size.chunks;
  const int32_t group = groupSize(size);
  const auto chunkOf = [&](int32_t k) { return k / group % size.chunks; };
  const auto stageOf = [&](int32_t chunk) { return chunk * size.ranks + rank; };
  const ActionKind backward =
      shape.splitsBackward ? ActionKind::InputGradient : ActionKind::Backward;
  RowWriter row;
  int32_t forwards = 0;
  const auto addForward = [&] {
    if (forwards < total)
      row.add(stageOf(chunkOf(forwards++)), ActionKind::Forward);
  };
  for (int32_t i = 0; i < shape.warmup; ++i)
    addForward();
  for (int32_t k = 0; k < total; ++k) {
    addForward();
    row.add(stageOf(size.chunks - 1 - chunkOf(k)), backward);
    if (k >= shape.lag)
      row.addWeightGradient();
  }
  row.addAllWeightGradients();
  return row.take();
}

template <typename ShapeOfRank>
Table alternateOnAll(ScheduleSize size, ShapeOfRank shapeOf) {
  Table table;
  for (int32_t rank = 0; rank < size.ranks; ++rank)
    table.rows.push_back(alternate(size, rank, shapeOf(rank)));
  return table;
}

/// Forwards that the last rank of an interleaved schedule starts with: those of
/// all stages but its last, of one group.
int32_t lastWarmup(ScheduleSize size) {
  return (size.chunks - 1) * groupSize(size);
}

} // namespace

Table oneForwardOneBackward(ScheduleSize size) {
  return alternateOnAll(size, [&](int32_t rank) {
    return Alternation{.warmup = size.ranks - 1 - rank};
  });
}

Table eagerOneForwardOneBackward(ScheduleSize size) {
  return alternateOnAll(size, [&](int32_t rank) {
    return Alternation{.warmup = 2 * (size.ranks - 1 - rank)};
  });
}

Table interleaved(ScheduleSize size) {
  return alternateOnAll(size, [&](int32_t rank) {
    return Alternation{.warmup =
                           lastWarmup(size) + 2 * (size.ranks - 1 - rank)};
  });
}

Table interleavedZeroBubble(ScheduleSize size) {
  return alternateOnAll(size, [&](int32_t rank) {
    return Alternation{.warmup = lastWarmup(size) + size.ranks - 1 - rank,
                       .splitsBackward = true,
                       .lag = rank};
  });
}

Table zeroBubbleH1(ScheduleSize size) { return interleavedZeroBubble(size); }

Table zeroBubbleH2(ScheduleSize size) {
  return alternateOnAll(size, [&](int32_t rank) {
    return Alternation{.warmup = 2 * (size.ranks - 1 - rank),
                       .splitsBackward = true,
                       .lag = 2 * rank};
  });
}

} // namespace weft::timeline
