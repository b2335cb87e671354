//===- PackedTile.h - A part of a GEMM, from packed panels ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rectangle of the result of an f32 GEMM, computed by one thread.
//
// Both operands are copied ("packed") into panels in the order in which the
// innermost loop reads them, so that all strides of a plan are equally fast: a
// row-major matrix whose rows are a power of two apart is several times slower
// when it is read in place. Packing is a hundredth of the work.
//
// Every element is summed in blocks of `packedDepth` products, each block with
// fused multiply-adds in order from zero, the blocks added in order. So its
// bits depend on neither the rectangle, nor the thread, nor the processor.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CPU_PACKEDTILE_H
#define WEFT_RUNTIME_SRC_CPU_PACKEDTILE_H

#include <cstddef>
#include <cstdint>

namespace weft::runtime {

/// A matrix in memory, in elements.
struct TileMatrix {
  int64_t row, column;
};

/// out[i, j] = sum over k of lhs[i, k] * rhs[k, j], plus the old out if
/// `accumulate`. Pointers are to element [0, 0] of the rectangle. It has at
/// most `maxTileColumns` columns.
struct PackedTile {
  const float *lhs, *rhs;
  float *out;
  int64_t rows, columns, depth;
  TileMatrix lhsStrides, rhsStrides, outStrides;
  bool accumulate;
};

/// Products that are summed before they are added to the result. Part of what
/// defines its bits.
inline constexpr int64_t packedDepth = 256;

inline constexpr int64_t maxTileColumns = 1024;

/// Bytes of working memory that a tile needs, aligned to 64.
inline constexpr size_t tileScratchpadBytes = size_t(2) << 20;

/// Rows and columns of a tile: the result is cut into a grid of them.
struct TileSize {
  int64_t rows, columns;
};

/// Tiles as large as possible, since both operands are packed once for each
/// tile, but some for each thread. Of `batch` results of m rows and n columns.
TileSize chooseTile(int64_t batch, int64_t m, int64_t n, int threads);

using TileFunction = void (*)(const PackedTile &tile, std::byte *scratchpad);

/// The function for this machine; null if its processor has none of the
/// instruction sets that there is one for.
TileFunction packedTileFunction();

namespace avx512 {
void computeTile(const PackedTile &tile, std::byte *scratchpad);
}
namespace avx2 {
void computeTile(const PackedTile &tile, std::byte *scratchpad);
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CPU_PACKEDTILE_H
