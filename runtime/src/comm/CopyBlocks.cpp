//===- CopyBlocks.cpp - Regular patterns of blocks, copied ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyBlocks.h"

#include <cstring>

namespace weft::runtime {

/// `bytes` is a constant for the sizes of one element, where the call of
/// memcpy would cost more than the copy.
template <typename Bytes>
static void copyGrid(const char *source, char *destination,
                     const BlockGrid &grid, Bytes bytes) {
  for (int64_t i = 0; i < grid.outer; ++i) {
    const char *from = source + i * grid.sourceOuterStride;
    char *to = destination + i * grid.destinationOuterStride;
    for (int64_t j = 0; j < grid.middle; ++j)
      std::memcpy(to + j * grid.destinationMiddleStride,
                  from + j * grid.sourceMiddleStride, bytes());
  }
}

template <size_t count> struct Fixed {
  constexpr size_t operator()() const { return count; }
};

/// Joins blocks that are neighbours in the source and in the destination.
static void joinBlocks(BlockGrid &grid) {
  if (grid.middle == 1 || (grid.sourceMiddleStride == grid.bytes &&
                           grid.destinationMiddleStride == grid.bytes)) {
    // Each row of blocks becomes one block, and the rows the middle loop.
    grid.bytes *= grid.middle;
    grid.middle = grid.outer;
    grid.sourceMiddleStride = grid.sourceOuterStride;
    grid.destinationMiddleStride = grid.destinationOuterStride;
    grid.outer = 1;
  }
  if (grid.outer == 1 && grid.sourceMiddleStride == grid.bytes &&
      grid.destinationMiddleStride == grid.bytes) {
    grid.bytes *= grid.middle;
    grid.middle = 1;
  }
}

void copyBlocks(const void *source, void *destination, BlockGrid grid) {
  if (grid.outer == 0 || grid.middle == 0 || grid.bytes == 0)
    return;
  joinBlocks(grid);
  const char *from = static_cast<const char *>(source);
  char *to = static_cast<char *>(destination);
  switch (grid.bytes) {
  case 1:
    return copyGrid(from, to, grid, Fixed<1>());
  case 2:
    return copyGrid(from, to, grid, Fixed<2>());
  case 4:
    return copyGrid(from, to, grid, Fixed<4>());
  case 8:
    return copyGrid(from, to, grid, Fixed<8>());
  case 16:
    return copyGrid(from, to, grid, Fixed<16>());
  default:
    return copyGrid(from, to, grid, [&] { return size_t(grid.bytes); });
  }
}

} // namespace weft::runtime
