//===- Moves.h - What one rank of a group gives to another ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collectives that only move data, as blocks from the source of one rank to the
// destination of another: copied where both are in one process, packed, sent
// and unpacked between processes.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_MOVES_H
#define WEFT_RUNTIME_COMM_MOVES_H

#include "Call.h"
#include "CopyBlocks.h"

namespace weft::runtime {

/// Blocks from byte `from` of the source on to byte `to` of the destination on.
struct Move {
  int64_t from = 0;
  int64_t to = 0;
  BlockGrid grid;

  int64_t bytes() const { return grid.outer * grid.middle * grid.bytes; }
  /// Whether the blocks lie one after the other, in the source or destination.
  bool isDenseAtSource() const;
  bool isDenseAtDestination() const;
  /// The same blocks from the source to dense memory, or from there to the
  /// destination.
  Move packed() const;
  Move unpacked() const;
};

/// Between ranks of a group of `size`; of a permutation all of the source.
Move gatherMove(const CallShape &shape, int size, int sender);
Move allToAllMove(const CallShape &shape, int size, int sender, int receiver);
Move permuteMove(const CallShape &shape);
Move exchangeMove(const CallShape &shape, const ExchangeBlock &block);
/// What `receiver` reduces of a source of reduce_scatter.
Move scatterMove(const CallShape &shape, int size, int receiver);

/// Of the whole source and destination.
void moveBlocks(const void *source, void *destination, const Move &move);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_MOVES_H
