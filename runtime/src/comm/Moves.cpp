//===- Moves.cpp - What one rank of a group gives to another --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Moves.h"

namespace weft::runtime {

static bool isDense(const BlockGrid &grid, int64_t outerStride,
                    int64_t middleStride) {
  return (grid.middle == 1 || middleStride == grid.bytes) &&
         (grid.outer == 1 || outerStride == grid.middle * grid.bytes);
}

bool Move::isDenseAtSource() const {
  return isDense(grid, grid.sourceOuterStride, grid.sourceMiddleStride);
}

bool Move::isDenseAtDestination() const {
  return isDense(grid, grid.destinationOuterStride,
                 grid.destinationMiddleStride);
}

Move Move::packed() const {
  Move move = *this;
  move.to = 0;
  move.grid.destinationMiddleStride = grid.bytes;
  move.grid.destinationOuterStride = grid.middle * grid.bytes;
  return move;
}

Move Move::unpacked() const {
  Move move = *this;
  move.from = 0;
  move.grid.sourceMiddleStride = grid.bytes;
  move.grid.sourceOuterStride = grid.middle * grid.bytes;
  return move;
}

static int64_t innerBytes(const CallShape &shape) {
  return shape.inner * static_cast<int64_t>(byteSize(shape.dtype));
}

Move gatherMove(const CallShape &shape, int size, int sender) {
  const int64_t bytes = innerBytes(shape);
  return {.to = sender * bytes,
          .grid = {.outer = shape.outer,
                   .bytes = bytes,
                   .sourceOuterStride = bytes,
                   .destinationOuterStride = size * bytes}};
}

Move allToAllMove(const CallShape &shape, int size, int sender, int receiver) {
  const int64_t block = innerBytes(shape);
  const int64_t run = shape.middle * block;
  // [group, middle, inner] and [middle, group, inner]: distance of neighbours
  // along the group and along the middle.
  const int64_t groupFirst[] = {run, block};
  const int64_t middleFirst[] = {block, size * block};
  const int64_t *from = shape.splitFirst ? groupFirst : middleFirst;
  const int64_t *to = shape.splitFirst ? middleFirst : groupFirst;
  return {.from = receiver * from[0],
          .to = sender * to[0],
          .grid = {.outer = shape.outer,
                   .middle = shape.middle,
                   .bytes = block,
                   .sourceOuterStride = size * run,
                   .sourceMiddleStride = from[1],
                   .destinationOuterStride = size * run,
                   .destinationMiddleStride = to[1]}};
}

Move permuteMove(const CallShape &shape) {
  return {.grid = {.bytes = innerBytes(shape)}};
}

Move exchangeMove(const CallShape &shape, const ExchangeBlock &block) {
  const int64_t unit = innerBytes(shape);
  return {.from = block.source * unit,
          .to = block.destination * unit,
          .grid = {.outer = shape.outer,
                   .middle = block.count,
                   .bytes = unit,
                   .sourceOuterStride = shape.before * unit,
                   .sourceMiddleStride = block.step * unit,
                   .destinationOuterStride = shape.after * unit,
                   .destinationMiddleStride = unit}};
}

Move scatterMove(const CallShape &shape, int size, int receiver) {
  const int64_t bytes = innerBytes(shape);
  return {.from = receiver * bytes,
          .grid = {.outer = shape.outer,
                   .bytes = bytes,
                   .sourceOuterStride = size * bytes,
                   .destinationOuterStride = bytes}};
}

void moveBlocks(const void *source, void *destination, const Move &move) {
  copyBlocks(static_cast<const char *>(source) + move.from,
             static_cast<char *>(destination) + move.to, move.grid);
}

} // namespace weft::runtime
