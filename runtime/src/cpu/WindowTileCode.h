//===- WindowTileCode.h - One tile of windows, at a vector width *- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code of WindowTile.h, included as PackedTileCode.h is.
//
// Either rows or the depth follow each other in memory, in runs: as many as a
// place has of features or, as in the derivative by the kernel, of the batch,
// and those of neighbouring places, up to where these end. What a point of the
// other side has of the runs is copied, or zero, run by run.
//
//===----------------------------------------------------------------------===//

#include "cpu/PackedTileCode.h"
#include "cpu/WindowTile.h"

namespace weft::runtime {
namespace {

template <int lanes, int panelRows>
struct WindowCode : PackedCode<lanes, panelRows> {
  using Base = PackedCode<lanes, panelRows>;
  using Base::panelColumns, Base::blockRows, Base::smaller;

  /// Points of one side that follow each other in memory from `point` on, which
  /// is the element `skipped` of its place.
  struct Run {
    const WindowPoint *point;
    int64_t count, skipped;
  };

  struct Scratch {
    float lhs[Base::lhsElements];
    float rhs[maxTileColumns * packedDepth + lanes];
    float gathered[panelRows * packedDepth + lanes];
    WindowPoint rows[blockRows], depth[packedDepth];
    Run runs[packedDepth];
  };
  static_assert(sizeof(Scratch) <= tileScratchpadBytes);
  static_assert(blockRows <= packedDepth);

  /// How points of a side follow each other in memory: `features` of a place,
  /// and then, unless `dim` is -1, those of the next of `places` along it.
  struct RunShape {
    int64_t features = 1, places = 1;
    int dim = -1;
  };

  static RunShape runShapeOf(const WindowSide &side) {
    RunShape shape;
    int last = side.count - 1;
    if (last >= 0 && side.axes[last].dim < 0 && side.axes[last].lhs == 1)
      shape.features = side.axes[last--].size;
    if (last >= 0 && side.axes[last].dim >= 0 && side.axes[last].step == 1 &&
        side.axes[last].lhs == shape.features) {
      shape.places = side.axes[last].size;
      shape.dim = side.axes[last].dim;
    }
    return shape;
  }

  static void findPoints(const WindowSide &side, int64_t first, int64_t count,
                         WindowPoint point, WindowPoint *to) {
    int64_t digits[maxWindowDims + 1];
    const auto move = [&](int axis, int64_t steps) {
      const WindowAxis &a = side.axes[axis];
      point.lhs += steps * a.lhs;
      point.other += steps * a.other;
      if (a.dim >= 0)
        point.at[a.dim] += steps * a.step;
    };
    for (int axis = side.count - 1; axis >= 0; --axis) {
      digits[axis] = first % side.axes[axis].size;
      first /= side.axes[axis].size;
      move(axis, digits[axis]);
    }
    for (int64_t i = 0; i < count; ++i) {
      to[i] = point;
      for (int axis = side.count - 1; axis >= 0; --axis) {
        move(axis, 1);
        if (++digits[axis] < side.axes[axis].size)
          break;
        move(axis, -digits[axis]);
        digits[axis] = 0;
      }
    }
  }

  static int64_t findRuns(const RunShape &shape, const WindowPoint *points,
                          int64_t first, int64_t count, Run *to) {
    int64_t found = 0;
    for (int64_t i = 0; i < count;) {
      const int64_t skipped = (first + i) % shape.features;
      const int64_t place = (first + i) / shape.features % shape.places;
      const int64_t length =
          smaller((shape.places - place) * shape.features - skipped, count - i);
      to[found++] = {points + i, length, skipped};
      i += length;
    }
    return found;
  }

  static void copy(const float *from, int64_t count, float *to) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
      Base::store(to + i, Base::load(from + i));
    for (; i < count; ++i)
      to[i] = from[i];
  }
  static void clear(int64_t count, float *to) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = 0;
  }

  /// What `point` has of the runs.
  static void gather(const WindowTile &tile, const RunShape &shape,
                     const WindowPoint &point, const Run *runs, int64_t numRuns,
                     float *to) {
    for (const Run *run = runs; run != runs + numRuns; ++run) {
      int64_t begin = 0, end = run->count;
      for (int dim = 0; dim < tile.dims; ++dim) {
        const int64_t at = point.at[dim] + run->point->at[dim];
        const int64_t left = tile.extents[dim] - at;
        if (dim != shape.dim) {
          if (at < 0 || left <= 0)
            end = 0;
          continue;
        }
        if (at < 0)
          begin = -at * shape.features - run->skipped;
        if (left <= 0)
          end = 0;
        else
          end = smaller(end, left * shape.features - run->skipped);
      }
      begin = smaller(begin, run->count);
      if (end < begin)
        end = begin;
      clear(begin, to);
      copy(tile.lhs + point.lhs + run->point->lhs + begin, end - begin,
           to + begin);
      clear(run->count - end, to + end);
      to += run->count;
    }
  }

  /// Rows into panels [depth][panelRows].
  static void packRows(const WindowTile &tile, const RunShape &shape,
                       int64_t rows, int64_t depth, int64_t numRuns,
                       Scratch &s) {
    for (int64_t p = 0; p < rows; p += panelRows) {
      const int64_t width = smaller(panelRows, rows - p);
      for (int64_t i = 0; i < width; ++i)
        gather(tile, shape, s.rows[p + i], s.runs, numRuns,
               s.gathered + i * packedDepth);
      for (int64_t i = 0; i < width; i += lanes)
        Base::packAcross(s.gathered + i * packedDepth, packedDepth,
                         smaller(lanes, width - i), depth,
                         s.lhs + p * depth + i, panelRows);
    }
  }

  /// The same where runs are of rows.
  static void packDepth(const WindowTile &tile, const RunShape &shape,
                        int64_t rows, int64_t depth, int64_t numRuns,
                        Scratch &s) {
    for (int64_t k = 0; k < depth; ++k) {
      gather(tile, shape, s.depth[k], s.runs, numRuns, s.gathered);
      for (int64_t p = 0; p < rows; p += panelRows)
#pragma GCC unroll 16
        for (int i = 0; i < panelRows; ++i) // beyond the last: never used
          s.lhs[p * depth + k * panelRows + i] = s.gathered[p + i];
    }
  }

  static void packColumns(const WindowTile &tile, int64_t depth, Scratch &s) {
    for (int64_t k = 0; k < depth; ++k) {
      const float *from = tile.rhs + s.depth[k].other;
      for (int64_t j = 0; j < tile.columns; j += panelColumns) {
        float *to = s.rhs + j * depth + k * panelColumns;
        const int64_t width = smaller(panelColumns, tile.columns - j);
        if (tile.rhsColumn == 1)
          copy(from + j, width, to);
        else
          for (int64_t i = 0; i < width; ++i)
            to[i] = from[(j + i) * tile.rhsColumn];
      }
    }
  }

  struct PointRows {
    float *first;
    const WindowPoint *points;
    float *row(int64_t i) const { return first + points[i].other; }
  };

  static void computeWindows(const WindowTile &tile, std::byte *scratchpad) {
    Scratch &s = *reinterpret_cast<Scratch *>(scratchpad);
    const RunShape alongDepth = runShapeOf(tile.depth),
                   alongRows = runShapeOf(tile.rows);
    const bool runsAreRows = alongRows.features * alongRows.places >
                             alongDepth.features * alongDepth.places;
    const RunShape &shape = runsAreRows ? alongRows : alongDepth;
    WindowPoint start{tile.startElement, 0, {}};
    for (int dim = 0; dim < tile.dims; ++dim)
      start.at[dim] = tile.start[dim];
    const int64_t step = Base::rowsOfBlocks(tile.rowCount);
    for (int64_t k = 0; k < tile.depthCount; k += packedDepth) {
      const int64_t depth = smaller(packedDepth, tile.depthCount - k);
      findPoints(tile.depth, k, depth, WindowPoint{}, s.depth);
      packColumns(tile, depth, s);
      int64_t numRuns = 0;
      if (!runsAreRows)
        numRuns = findRuns(shape, s.depth, k, depth, s.runs);
      for (int64_t first = 0; first < tile.rowCount; first += step) {
        const int64_t rows = smaller(step, tile.rowCount - first);
        findPoints(tile.rows, tile.firstRow + first, rows, start, s.rows);
        if (runsAreRows) {
          numRuns =
              findRuns(shape, s.rows, tile.firstRow + first, rows, s.runs);
          packDepth(tile, shape, rows, depth, numRuns, s);
        } else {
          packRows(tile, shape, rows, depth, numRuns, s);
        }
        const auto rowsAt = [&](int64_t i, int64_t j) {
          return PointRows{tile.out + j * tile.outColumn, s.rows + i};
        };
        Base::multiplyBlock(rowsAt, tile.outColumn, rows, tile.columns, depth,
                            s.lhs, s.rhs, k > 0);
      }
    }
  }
};

} // namespace
} // namespace weft::runtime
