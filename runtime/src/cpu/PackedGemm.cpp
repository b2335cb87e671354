//===- PackedGemm.cpp - f32 GEMMs in tiles ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/Gemm.h"
#include "cpu/PackedTile.h"
#include "cpu/ThreadTeam.h"
#include "cpu/WindowTile.h"

#include <algorithm>

namespace weft::runtime {
namespace {

class PackedGemm final : public BoundGemm {
public:
  PackedGemm(const GemmProblem &problem, const GemmOperands &operands,
             TileFunction compute, ThreadTeam &team);

  size_t scratchpadBytes() const override {
    return team.size() * tileScratchpadBytes;
  }
  Status bindScratchpad(void *memory) override {
    scratchpad = static_cast<std::byte *>(memory);
    return {};
  }
  Status run() override;

private:
  void runTile(int64_t number, int thread) const;

  GemmProblem problem;
  GemmOperands operands;
  const TileFunction compute;
  ThreadTeam &team;
  TileSize tile;
  int64_t tileRows, tileColumns;
  std::byte *scratchpad = nullptr;
};

} // namespace

static int64_t ceilDiv(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// Cuts `extent` into `parts` that are multiples of `unit`, the last but a
/// rest.
static int64_t partOf(int64_t extent, int64_t parts, int64_t unit) {
  return ceilDiv(ceilDiv(extent, parts), unit) * unit;
}

TileSize chooseTile(int64_t batch, int64_t m, int64_t n, int threads) {
  // Panels of both instruction sets divide these.
  constexpr int64_t rowUnit = 12, columnUnit = 32, smallest = 96;
  int64_t down = 1, across = ceilDiv(n, maxTileColumns);
  TileSize tile{};
  while (true) {
    tile = {partOf(m, down, rowUnit), partOf(n, across, columnUnit)};
    const int64_t tiles =
        batch * ceilDiv(m, tile.rows) * ceilDiv(n, tile.columns);
    if (threads == 1 || tiles >= 2 * threads ||
        std::max(tile.rows, tile.columns) < 2 * smallest)
      return tile;
    ++(tile.rows >= tile.columns ? down : across);
  }
}

PackedGemm::PackedGemm(const GemmProblem &problem, const GemmOperands &operands,
                       TileFunction compute, ThreadTeam &team)
    : problem(problem), operands(operands), compute(compute), team(team),
      tile(chooseTile(problem.batch, problem.m, problem.n, team.size())),
      tileRows(ceilDiv(problem.m, tile.rows)),
      tileColumns(ceilDiv(problem.n, tile.columns)) {}

void PackedGemm::runTile(int64_t number, int thread) const {
  const int64_t row = number % tileRows * tile.rows;
  const int64_t column = number / tileRows % tileColumns * tile.columns;
  const int64_t batch = number / tileRows / tileColumns;
  const GemmProblem &p = problem;
  const PackedTile part{static_cast<const float *>(operands.lhs) +
                            batch * p.lhs.batch + row * p.lhs.row,
                        static_cast<const float *>(operands.rhs) +
                            batch * p.rhs.batch + column * p.rhs.column,
                        static_cast<float *>(operands.out) +
                            batch * p.result.batch + row * p.result.row +
                            column * p.result.column,
                        std::min(tile.rows, p.m - row),
                        std::min(tile.columns, p.n - column),
                        p.k,
                        {p.lhs.row, p.lhs.column},
                        {p.rhs.row, p.rhs.column},
                        {p.result.row, p.result.column},
                        p.accumulate};
  compute(part, scratchpad + thread * tileScratchpadBytes);
}

Status PackedGemm::run() {
  team.run(problem.batch * tileRows * tileColumns,
           [this](int64_t number, int thread) { runTile(number, thread); });
  return {};
}

std::unique_ptr<BoundGemm>
bindPackedGemm(GemmProblem problem, GemmOperands operands, ThreadTeam &team) {
  const TileFunction compute = packedTileFunction();
  if (!compute || problem.in != DType::F32 || problem.out != DType::F32)
    return nullptr;
  // Tiles are written in rows.
  if (problem.result.column != 1 && problem.result.row == 1) {
    problem = transposed(problem);
    std::swap(operands.lhs, operands.rhs);
  }
  return std::make_unique<PackedGemm>(withMergedRows(problem), operands,
                                      compute, team);
}

#if WEFT_HAS_PACKED_TILES
/// That of the best instruction set that this processor has, or null.
template <typename Function>
static Function supported(Function avx512, Function avx2) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return avx2;
  return nullptr;
}

TileFunction packedTileFunction() {
  return supported(&avx512::computeTile, &avx2::computeTile);
}

WindowTileFunction windowTileFunction() {
  return supported(&avx512::computeWindows, &avx2::computeWindows);
}
#else
TileFunction packedTileFunction() { return nullptr; }

WindowTileFunction windowTileFunction() { return nullptr; }
#endif

} // namespace weft::runtime
