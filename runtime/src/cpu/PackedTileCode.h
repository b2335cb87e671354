//===- PackedTileCode.h - One tile, at a vector width -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code of PackedTile.h, included once for each instruction set by a source
// that is compiled for it. Everything is in an unnamed namespace and calls no
// inline function of a library: the linker must never take a function for one
// processor from the source for another.
//
// Panels of lhs are [depth][panelRows], of rhs [depth][2 * lanes]. One panel of
// rhs stays in the first-level cache while the block of lhs, in the second
// level, passes by.
//
//===----------------------------------------------------------------------===//

#include "cpu/PackedTile.h"

#include <utility>

namespace weft::runtime {
namespace {

template <int lanes, int panelRows> struct PackedCode {
  typedef float Lanes __attribute__((vector_size(lanes * sizeof(float))));
  typedef float UnalignedLanes
      __attribute__((vector_size(lanes * sizeof(float)), aligned(4)));

  static constexpr int64_t panelColumns = 2 * lanes;
  /// Rows of lhs that are packed at once.
  static constexpr int64_t blockRows = 240 / panelRows * panelRows;
  /// Packing writes whole vectors, hence one more.
  static constexpr int64_t lhsElements = blockRows * packedDepth + lanes;
  static_assert((lhsElements + maxTileColumns * packedDepth + lanes) *
                    sizeof(float) <=
                tileScratchpadBytes);

  static int64_t smaller(int64_t x, int64_t y) { return x < y ? x : y; }
  static Lanes load(const float *from) {
    return *reinterpret_cast<const UnalignedLanes *>(from);
  }
  static void store(float *to, Lanes value) {
    *reinterpret_cast<UnalignedLanes *>(to) = value;
  }

  //===--------------------------------------------------------------------===//
  // Packing
  //===--------------------------------------------------------------------===//

  /// Exchanges, in pairs of vectors whose numbers differ in the bit `step`, the
  /// lanes whose numbers do.
  template <int step, size_t... i>
  static void exchange(Lanes &x, Lanes &y, std::index_sequence<i...>) {
    const Lanes low = __builtin_shufflevector(
        x, y, (i & step ? int(lanes + i - step) : int(i))...);
    y = __builtin_shufflevector(x, y,
                                (i & step ? int(lanes + i) : int(i + step))...);
    x = low;
  }
  template <int step> static void exchangeAll(Lanes (&rows)[lanes]) {
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i)
      if (!(i & step))
        exchange<step>(rows[i], rows[i | step],
                       std::make_index_sequence<lanes>());
    if constexpr (step > 1)
      exchangeAll<step / 2>(rows);
  }

  /// Packs `width` vectors along which memory is contiguous in `depth`:
  /// to[k * panel + i] = from[i * stride + k]. At most `lanes` of them; what is
  /// written beyond `width`, up to `lanes`, is overwritten by the next k.
  static void packAcross(const float *from, int64_t stride, int64_t width,
                         int64_t depth, float *to, int64_t panel) {
    int64_t k = 0;
    for (; k + lanes <= depth; k += lanes) {
      Lanes rows[lanes];
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i)
        rows[i] = load(from + smaller(i, width - 1) * stride + k);
      exchangeAll<lanes / 2>(rows);
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i)
        store(to + (k + i) * panel, rows[i]);
    }
    for (; k < depth; ++k)
      for (int64_t i = 0; i < lanes; ++i)
        to[k * panel + i] = from[smaller(i, width - 1) * stride + k];
  }

  /// Packs vectors along which memory is contiguous across panels: reads whole
  /// lines, in order, and writes to all panels at once.
  template <int panel>
  static void packAlong(const float *from, int64_t along, int64_t width,
                        int64_t depth, float *to) {
    const int64_t whole = width / panel;
    for (int64_t k = 0; k < depth; ++k) {
      const float *row = from + k * along;
      for (int64_t p = 0; p < whole; ++p)
#pragma GCC unroll 32
        for (int i = 0; i < panel; ++i)
          to[(p * depth + k) * panel + i] = row[p * panel + i];
      for (int64_t i = whole * panel; i < width; ++i)
        to[(whole * depth + k) * panel + i - whole * panel] = row[i];
    }
  }

  /// Packs `width` vectors of `depth` elements, element k of vector i being
  /// from[i * across + k * along], into panels [depth][panel]. What a panel has
  /// beyond them is never used.
  template <int panel>
  static void pack(const float *from, int64_t across, int64_t along,
                   int64_t width, int64_t depth, float *to) {
    if (across == 1)
      return packAlong<panel>(from, along, width, depth, to);
    for (int64_t p = 0; p < width; p += panel)
      for (int64_t i = p; i < smaller(p + panel, width); i += lanes)
        if (along == 1)
          packAcross(from + i * across, across, smaller(lanes, width - i),
                     depth, to + p * depth + i - p, panel);
        else
          for (int64_t k = 0; k < depth; ++k)
            for (int64_t l = i; l < smaller(i + lanes, width); ++l)
              to[p * depth + k * panel + l - p] = from[l * across + k * along];
  }

  //===--------------------------------------------------------------------===//
  // Multiplication
  //===--------------------------------------------------------------------===//

  /// Rows of the result that are equally far apart.
  struct EvenRows {
    float *first;
    int64_t stride;
    float *row(int64_t i) const { return first + i * stride; }
  };

  /// A panel of lhs times a panel of rhs; `rows` of the panel's are there.
  template <int rows, typename Rows>
  static void multiply(int64_t depth, const float *lhs, const float *rhs,
                       Rows out, bool accumulate) {
    Lanes sums[rows][2] = {};
    for (int64_t k = 0; k < depth; ++k) {
      const Lanes left = load(rhs), right = load(rhs + lanes);
#pragma GCC unroll 16
      for (int i = 0; i < rows; ++i) {
        const Lanes factor = lhs[i] - Lanes{};
        sums[i][0] += factor * left;
        sums[i][1] += factor * right;
      }
      lhs += panelRows;
      rhs += panelColumns;
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      float *row = out.row(i);
      if (accumulate) {
        sums[i][0] += load(row);
        sums[i][1] += load(row + lanes);
      }
      store(row, sums[i][0]);
      store(row + lanes, sums[i][1]);
    }
  }

  template <typename Rows>
  using Multiply = void (*)(int64_t, const float *, const float *, Rows, bool);
  template <typename Rows, int... rows>
  static Multiply<Rows> multiplyOf(int64_t count,
                                   std::integer_sequence<int, rows...>) {
    static constexpr Multiply<Rows> table[] = {&multiply<rows + 1, Rows>...};
    return table[count - 1];
  }

  /// The same for a panel that sticks out of the result, or a result whose
  /// rows are not contiguous.
  template <typename Rows>
  static void multiplyEdge(int64_t depth, const float *lhs, const float *rhs,
                           Rows out, int64_t columnStride, int64_t rows,
                           int64_t columns, bool accumulate) {
    alignas(64) float sums[panelRows * panelColumns];
    multiply<panelRows>(depth, lhs, rhs, EvenRows{sums, panelColumns}, false);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        float &element = out.row(i)[j * columnStride];
        const float sum = sums[i * panelColumns + j];
        element = accumulate ? sum + element : sum;
      }
  }

  /// A packed block of lhs times the packed strip of rhs. `rowsAt(i, j)` are
  /// those of the result from row i of the block and column j on.
  template <typename RowsAt>
  static void multiplyBlock(const RowsAt &rowsAt, int64_t columnStride,
                            int64_t rows, int64_t allColumns, int64_t depth,
                            const float *lhs, const float *rhs,
                            bool accumulate) {
    using Rows = decltype(rowsAt(0, 0));
    for (int64_t j = 0; j < allColumns; j += panelColumns) {
      const int64_t columns = smaller(panelColumns, allColumns - j);
      for (int64_t i = 0; i < rows; i += panelRows) {
        const int64_t height = smaller(panelRows, rows - i);
        const float *left = lhs + i * depth, *right = rhs + j * depth;
        const Rows out = rowsAt(i, j);
        if (columns == panelColumns && columnStride == 1)
          multiplyOf<Rows>(height,
                           std::make_integer_sequence<int, panelRows>())(
              depth, left, right, out, accumulate);
        else
          multiplyEdge(depth, left, right, out, columnStride, height, columns,
                       accumulate);
      }
    }
  }

  /// Equal blocks, so that the last one is not a small rest.
  static int64_t rowsOfBlocks(int64_t rows) {
    const int64_t blocks = (rows + blockRows - 1) / blockRows;
    const int64_t even = (rows + blocks - 1) / blocks;
    return (even + panelRows - 1) / panelRows * panelRows;
  }

  static void compute(const PackedTile &tile, std::byte *scratchpad) {
    auto *lhs = reinterpret_cast<float *>(scratchpad);
    float *rhs = lhs + lhsElements;
    const TileMatrix &a = tile.lhsStrides, &b = tile.rhsStrides;
    const int64_t step = rowsOfBlocks(tile.rows);
    for (int64_t k = 0; k < tile.depth; k += packedDepth) {
      const int64_t depth = smaller(packedDepth, tile.depth - k);
      pack<panelColumns>(tile.rhs + k * b.row, b.column, b.row, tile.columns,
                         depth, rhs);
      for (int64_t first = 0; first < tile.rows; first += step) {
        const int64_t rows = smaller(step, tile.rows - first);
        pack<panelRows>(tile.lhs + first * a.row + k * a.column, a.row,
                        a.column, rows, depth, lhs);
        const auto rowsAt = [&](int64_t i, int64_t j) {
          const TileMatrix &c = tile.outStrides;
          return EvenRows{tile.out + (first + i) * c.row + j * c.column, c.row};
        };
        multiplyBlock(rowsAt, tile.outStrides.column, rows, tile.columns, depth,
                      lhs, rhs, tile.accumulate || k > 0);
      }
    }
  }
};

} // namespace
} // namespace weft::runtime
