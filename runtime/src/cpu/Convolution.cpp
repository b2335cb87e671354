//===- Convolution.cpp - Convolutions on a CPU ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/Convolution.h"
#include "cpu/ThreadTeam.h"
#include "cpu/WindowTile.h"

#include <algorithm>
#include <numeric>

namespace weft::runtime {
namespace {

/// A matmul of a group: `tile` is of all of its rows and columns.
struct Matmul {
  WindowTile tile;
  TileSize size;
  int64_t tilesDown, firstTask;
};

class Convolution final : public BoundOperation {
public:
  Convolution(const ConvolutionProblem &problem,
              const ConvolutionOperands &operands, WindowTileFunction compute,
              ThreadTeam &team);

  size_t scratchpadBytes() const override {
    return compute ? team.size() * tileScratchpadBytes : 0;
  }
  Status bindScratchpad(void *memory) override {
    scratchpad = static_cast<std::byte *>(memory);
    return {};
  }
  Status run() override {
    team.run(tasks,
             [this](int64_t task, int thread) { runTile(task, thread); });
    return {};
  }

private:
  void addMatmuls(size_t dim, WindowTile tile);
  void addMatmul(WindowTile tile);
  void runTile(int64_t task, int thread) const;

  const ConvolutionProblem problem;
  const WindowTileFunction compute;
  ThreadTeam &team;
  std::vector<Matmul> matmuls;
  int64_t tasks = 0;
  std::byte *scratchpad = nullptr;
};

} // namespace

static void addAxis(WindowSide &side, const WindowAxis &axis) {
  if (axis.size != 1)
    side.axes[side.count++] = axis;
}

Convolution::Convolution(const ConvolutionProblem &problem,
                         const ConvolutionOperands &operands,
                         WindowTileFunction compute, ThreadTeam &team)
    : problem(problem), compute(compute), team(team) {
  const auto &[groups, batch, inputFeatures, outputFeatures, windows] =
      this->problem;
  for (int64_t group = 0; group < groups.size; ++group) {
    WindowTile tile{};
    tile.lhs = operands.lhs + group * groups.lhs;
    tile.rhs = operands.rhs + group * groups.rhs;
    tile.out = operands.out + group * groups.out;
    tile.dims = static_cast<int>(windows.size());
    tile.columns = outputFeatures.size;
    tile.rhsColumn = outputFeatures.rhs;
    tile.outColumn = outputFeatures.out;
    addAxis(tile.rows, {batch.size, batch.lhs, batch.out, -1, 0});
    addAxis(tile.depth,
            {inputFeatures.size, inputFeatures.lhs, inputFeatures.rhs, -1, 0});
    addMatmuls(0, tile);
  }
}

/// For each position among zeros along the dimensions from `dim` on. Windows
/// whose number is `first` modulo `period` begin at one position; they meet
/// elements at those of the kernel whose number is `kernelFirst` modulo
/// `kernelPeriod`.
void Convolution::addMatmuls(size_t dim, WindowTile tile) {
  if (dim == problem.windows.size())
    return addMatmul(tile);
  const ConvolutionWindow &w = problem.windows[dim];
  const int64_t zeros = w.lhsDilation;
  const int64_t period = zeros / std::gcd(w.stride, zeros),
                kernelPeriod = zeros / std::gcd(w.rhsDilation, zeros);
  for (int64_t first = 0; first < std::min(period, w.out); ++first) {
    const int64_t begin = first * w.stride - w.low;
    int64_t kernelFirst = 0;
    while (kernelFirst < std::min(kernelPeriod, w.rhs) &&
           (begin + kernelFirst * w.rhsDilation) % zeros != 0)
      ++kernelFirst;
    const bool meets = kernelFirst < std::min(kernelPeriod, w.rhs);
    const int64_t step = period * w.stride / zeros,
                  kernelStep = kernelPeriod * w.rhsDilation / zeros;
    const int64_t start =
        meets ? (begin + kernelFirst * w.rhsDilation) / zeros : 0;
    WindowTile part = tile;
    part.extents[dim] = w.lhs;
    part.start[dim] = start;
    part.startElement += start * w.lhsStride;
    part.out += first * w.outStride;
    part.rhs += (meets ? kernelFirst : 0) * w.rhsStride;
    addAxis(part.rows,
            {(w.out - first + period - 1) / period, step * w.lhsStride,
             period * w.outStride, static_cast<int>(dim), step});
    addAxis(
        part.depth,
        {meets ? (w.rhs - kernelFirst + kernelPeriod - 1) / kernelPeriod : 0,
         kernelStep * w.lhsStride, kernelPeriod * w.rhsStride,
         static_cast<int>(dim), kernelStep});
    addMatmuls(dim + 1, part);
  }
}

/// In the order of memory, so that runs are long.
static int64_t sorted(WindowSide &side) {
  std::sort(
      side.axes, side.axes + side.count,
      [](const WindowAxis &a, const WindowAxis &b) { return a.lhs > b.lhs; });
  int64_t points = 1;
  for (int i = 0; i < side.count; ++i)
    points *= side.axes[i].size;
  return points;
}

void Convolution::addMatmul(WindowTile tile) {
  tile.rowCount = sorted(tile.rows);
  tile.depthCount = sorted(tile.depth);
  const TileSize size =
      chooseTile(problem.groups.size, tile.rowCount, tile.columns, team.size());
  const int64_t down = (tile.rowCount + size.rows - 1) / size.rows;
  const int64_t across = (tile.columns + size.columns - 1) / size.columns;
  matmuls.push_back({tile, size, down, tasks});
  tasks += down * across;
}

/// The sums that a tile stands for.
static void computePlainly(const WindowTile &tile) {
  const auto pointOf = [](const WindowSide &side, int64_t number) {
    WindowPoint point{};
    for (int i = side.count - 1; i >= 0; --i) {
      const WindowAxis &axis = side.axes[i];
      const int64_t steps = number % axis.size;
      number /= axis.size;
      point.lhs += steps * axis.lhs;
      point.other += steps * axis.other;
      if (axis.dim >= 0)
        point.at[axis.dim] = steps * axis.step;
    }
    return point;
  };
  for (int64_t i = 0; i < tile.rowCount; ++i) {
    const WindowPoint row = pointOf(tile.rows, tile.firstRow + i);
    float *const out = tile.out + row.other;
    for (int64_t j = 0; j < tile.columns; ++j)
      out[j * tile.outColumn] = 0;
    for (int64_t k = 0; k < tile.depthCount; ++k) {
      const WindowPoint depth = pointOf(tile.depth, k);
      bool isInside = true;
      for (int dim = 0; dim < tile.dims; ++dim) {
        const int64_t at = tile.start[dim] + row.at[dim] + depth.at[dim];
        isInside &= at >= 0 && at < tile.extents[dim];
      }
      if (!isInside)
        continue;
      const float factor = tile.lhs[tile.startElement + row.lhs + depth.lhs];
      for (int64_t j = 0; j < tile.columns; ++j)
        out[j * tile.outColumn] +=
            factor * tile.rhs[depth.other + j * tile.rhsColumn];
    }
  }
}

void Convolution::runTile(int64_t task, int thread) const {
  const Matmul &matmul =
      *std::prev(std::upper_bound(matmuls.begin(), matmuls.end(), task,
                                  [](int64_t task, const Matmul &matmul) {
                                    return task < matmul.firstTask;
                                  }));
  const int64_t number = task - matmul.firstTask;
  const int64_t row = number % matmul.tilesDown * matmul.size.rows;
  const int64_t column = number / matmul.tilesDown * matmul.size.columns;
  WindowTile tile = matmul.tile;
  tile.firstRow = row;
  tile.rowCount = std::min(matmul.size.rows, tile.rowCount - row);
  tile.columns = std::min(matmul.size.columns, tile.columns - column);
  tile.rhs += column * tile.rhsColumn;
  tile.out += column * tile.outColumn;
  if (compute && tile.depthCount != 0)
    compute(tile, scratchpad + thread * tileScratchpadBytes);
  else
    computePlainly(tile);
}

std::unique_ptr<BoundOperation>
bindConvolution(const ConvolutionProblem &problem,
                const ConvolutionOperands &operands, ThreadTeam &team) {
  if (auto bound = bindOneDnnConvolution(problem, operands, team))
    return bound;
  return bindWindowMatmuls(problem, operands, team);
}

#if !WEFT_HAS_ONEDNN
std::unique_ptr<BoundOperation>
bindOneDnnConvolution(const ConvolutionProblem &, const ConvolutionOperands &,
                      ThreadTeam &) {
  return nullptr;
}
#endif

std::unique_ptr<BoundOperation>
bindWindowMatmuls(const ConvolutionProblem &problem,
                  const ConvolutionOperands &operands, ThreadTeam &team) {
  return std::make_unique<Convolution>(problem, operands, windowTileFunction(),
                                       team);
}

std::unique_ptr<BoundOperation>
bindPlainConvolution(const ConvolutionProblem &problem,
                     const ConvolutionOperands &operands, ThreadTeam &team) {
  return std::make_unique<Convolution>(problem, operands, nullptr, team);
}

} // namespace weft::runtime
