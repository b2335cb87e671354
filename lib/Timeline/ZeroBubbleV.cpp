//===- ZeroBubbleV.cpp - ZB-V ---------------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generators.h"

#include <algorithm>

namespace weft::timeline {
namespace {

/// The row of one rank, of which the first stage is on the way down the V and
/// the second on the way up. Written for at least 2p - 1 micro-batches.
class ZeroBubbleVRow {
public:
  ZeroBubbleVRow(int32_t ranks, int32_t rank, int32_t microbatches)
      : ranks(ranks), rank(rank), microbatches(microbatches) {}

  Row write() {
    warmUp();
    repeat();
    coolDown();
    return std::move(row);
  }

private:
  struct Chunk {
    int32_t stage = 0;
    int32_t forwards = 0, inputGradients = 0, weightGradients = 0;
  };

  void forward(Chunk &chunk) {
    row.push_back({chunk.stage, ActionKind::Forward, chunk.forwards++});
  }
  void inputGradient(Chunk &chunk) {
    row.push_back(
        {chunk.stage, ActionKind::InputGradient, chunk.inputGradients++});
  }
  void weightGradient(Chunk &chunk) {
    row.push_back(
        {chunk.stage, ActionKind::WeightGradient, chunk.weightGradients++});
  }

  void warmUp() {
    for (int32_t i = 0; i < 2 * (ranks - rank) - 1; ++i)
      forward(down);
    for (int32_t i = 0; i < rank; ++i) {
      forward(up);
      forward(down);
    }
    for (int32_t i = rank; i < ranks; ++i) {
      forward(up);
      inputGradient(up);
      weightGradient(up);
    }
  }

  void repeat() {
    while (up.forwards < down.forwards || down.forwards < microbatches) {
      if (down.forwards < microbatches)
        forward(down);
      inputGradient(down);
      weightGradient(down);
      forward(up);
      inputGradient(up);
      weightGradient(up);
    }
  }

  void coolDown() {
    for (int32_t i = 0; i < rank; ++i) {
      inputGradient(down);
      inputGradient(up);
    }
    for (int32_t i = rank; i < ranks; ++i) {
      inputGradient(down);
      weightGradient(down);
    }
    while (up.weightGradients < up.inputGradients)
      weightGradient(up);
    while (down.weightGradients < down.inputGradients)
      weightGradient(down);
  }

  int32_t ranks, rank, microbatches;
  Chunk down = {rank}, up = {2 * ranks - 1 - rank};
  Row row;
};

} // namespace

Table zeroBubbleV(ScheduleSize size) {
  Table table;
  const int32_t least = std::max(2 * size.ranks - 1, size.microbatches);
  for (int32_t rank = 0; rank < size.ranks; ++rank) {
    table.rows.push_back(ZeroBubbleVRow(size.ranks, rank, least).write());
    std::erase_if(table.rows.back(), [&](const Action &action) {
      return action.microbatch >= size.microbatches;
    });
  }
  return table;
}

} // namespace weft::timeline
