//===- WindowTile.h - A part of a matmul of windows -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution is a matmul whose lhs is in memory only as what its windows are
// of: row i at depth k is the element at the place of i plus the place of k, or
// zero if there is none. Tiles pack such rows from there, so that no one lays
// out windows behind each other; else they are those of PackedTile.h, with the
// same sums.
//
// Both places are numbered by axes, major to minor: those of rows are the batch
// and the dimensions of the result, those of depth the features and the
// dimensions of the kernel.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CPU_WINDOWTILE_H
#define WEFT_RUNTIME_SRC_CPU_WINDOWTILE_H

#include "cpu/PackedTile.h"
#include "weft/runtime/PlanFormat.h"

namespace weft::runtime {

inline constexpr int maxWindowDims = maxConvolutionDims;

/// One step along it is `lhs` elements in memory and, where it moves along the
/// spatial dimension `dim`, which is else -1, `step` places. `other` are the
/// elements of the result, or of rhs.
struct WindowAxis {
  int64_t size, lhs, other;
  int dim;
  int64_t step;
};

struct WindowSide {
  WindowAxis axes[maxWindowDims + 1];
  int count;
};

/// A row, or a number of the depth.
struct WindowPoint {
  int64_t lhs, other;
  int64_t at[maxWindowDims];
};

/// Of the rows from `firstRow` on; `out` and `rhs` are at the first of its
/// columns. Not of more than `maxTileColumns`.
struct WindowTile {
  const float *lhs, *rhs;
  float *out;
  WindowSide rows, depth;
  int dims;
  /// Of lhs, and the place of row 0, in elements too.
  int64_t extents[maxWindowDims], start[maxWindowDims], startElement;
  int64_t firstRow, rowCount, depthCount, columns;
  int64_t rhsColumn, outColumn;
};

using WindowTileFunction = void (*)(const WindowTile &tile,
                                    std::byte *scratchpad);

/// As packedTileFunction.
WindowTileFunction windowTileFunction();

namespace avx512 {
void computeWindows(const WindowTile &tile, std::byte *scratchpad);
}
namespace avx2 {
void computeWindows(const WindowTile &tile, std::byte *scratchpad);
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CPU_WINDOWTILE_H
