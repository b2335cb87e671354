//===- GroupedGemm.cpp - GEMMs of groups of rows ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/GroupedGemm.h"
#include "cpu/PackedTile.h"
#include "cpu/ThreadTeam.h"

#include <algorithm>
#include <type_traits>

namespace weft::runtime {
namespace {

/// Rows of a batch from one on.
struct Rows {
  int64_t first, count;
};

/// A stack of matrices with elements of type T.
template <typename T> class Matrices {
public:
  Matrices(const void *first, const MatrixStrides &strides)
      : first(static_cast<const T *>(first)), strides(strides) {}

  const T *at(int64_t number, int64_t row, int64_t column) const {
    return first + number * strides.batch + row * strides.row +
           column * strides.column;
  }

private:
  const T *first;
  MatrixStrides strides;
};

float widened(BFloat16 x) { return toFloat(x); }
float widened(Float16 x) { return toFloat(x); }
float widened(float x) { return x; }
double widened(double x) { return x; }

void round(float sum, BFloat16 &to) { to = toBFloat16(sum); }
void round(float sum, Float16 &to) { to = toFloat16(sum); }
void round(float sum, float &to) { to = sum; }
void round(double sum, double &to) { to = sum; }

/// A task is the columns of a tile, of the rows of a group in a batch, or of
/// the sums of a group.
template <typename T> class GroupedGemm final : public BoundOperation {
public:
  GroupedGemm(const GroupedGemmProblem &problem, const GemmOperands &operands,
              const int32_t *sizes, TileFunction compute, ThreadTeam &team)
      : problem(problem), p(this->problem.gemm), lhs(operands.lhs, p.lhs),
        rhs(operands.rhs, p.rhs), out(static_cast<T *>(operands.out)),
        sizes(sizes), compute(compute), team(team),
        tileColumns(std::min(p.n, compute ? maxTileColumns : plainColumns)),
        tilesAcross((p.n + tileColumns - 1) / tileColumns) {}

  size_t scratchpadBytes() const override {
    return compute ? team.size() * tileScratchpadBytes : 0;
  }
  Status bindScratchpad(void *memory) override {
    scratchpad = static_cast<std::byte *>(memory);
    return {};
  }
  Status run() override {
    const int64_t stacks = problem.isByRows ? p.batch : 1;
    team.run(stacks * problem.groups * tilesAcross,
             [this](int64_t task, int thread) {
               const int64_t column = task % tilesAcross * tileColumns;
               const int64_t stack = task / tilesAcross;
               if (problem.isByRows)
                 multiplyRows(stack / problem.groups, stack % problem.groups,
                              column, thread);
               else
                 sumRows(stack, column, thread);
             });
    return {};
  }

private:
  using Sum = decltype(widened(T()));
  static constexpr int64_t plainColumns = 64;

  Rows rowsOf(int64_t batch, int64_t group) const;
  void multiplyRows(int64_t batch, int64_t group, int64_t column, int thread);
  void sumRows(int64_t group, int64_t column, int thread);
  void sumRowsPlainly(int64_t group, int64_t column, int64_t columns);
  void clear(T *first, int64_t rows, int64_t columns) const;
  void addProducts(const T *lhsRow, const T *rhsFirst, int64_t depth,
                   int64_t columns, Sum *sums) const;
  void store(const Sum *sums, T *first, int64_t columns) const;
  int64_t columnsFrom(int64_t column) const {
    return std::min(tileColumns, p.n - column);
  }
  T *outAt(int64_t number, int64_t row, int64_t column) const {
    return out + number * p.result.batch + row * p.result.row + column;
  }
  /// out = lhs * rhs, plus the old out if `accumulate`, as packed tiles do.
  void tile(const T *lhsFirst, const T *rhsFirst, T *outFirst, int64_t rows,
            int64_t columns, int64_t depth, bool accumulate, int thread) const;

  const GroupedGemmProblem problem;
  const GemmProblem &p;
  const Matrices<T> lhs, rhs;
  T *const out;
  const int32_t *const sizes;
  const TileFunction compute;
  ThreadTeam &team;
  const int64_t tileColumns, tilesAcross;
  std::byte *scratchpad = nullptr;
};

} // namespace

/// Whatever the sizes are, within the rows that there are.
template <typename T>
Rows GroupedGemm<T>::rowsOf(int64_t batch, int64_t group) const {
  const int64_t all = problem.isByRows ? p.m : p.k;
  const int32_t *own = sizes + batch * problem.groups;
  int64_t first = 0;
  for (int64_t i = 0; i < group; ++i)
    first = std::min(all, first + std::max(own[i], 0));
  return {first, std::min<int64_t>(std::max(own[group], 0), all - first)};
}

template <typename T>
void GroupedGemm<T>::clear(T *first, int64_t rows, int64_t columns) const {
  for (int64_t row = 0; row < rows; ++row)
    std::fill_n(first + row * p.result.row, columns, T());
}

template <typename T>
void GroupedGemm<T>::tile(const T *lhsFirst, const T *rhsFirst, T *outFirst,
                          int64_t rows, int64_t columns, int64_t depth,
                          bool accumulate, int thread) const {
  if constexpr (std::is_same_v<T, float>) {
    if (compute)
      return compute({lhsFirst,
                      rhsFirst,
                      outFirst,
                      rows,
                      columns,
                      depth,
                      {p.lhs.row, p.lhs.column},
                      {p.rhs.row, p.rhs.column},
                      {p.result.row, 1},
                      accumulate},
                     scratchpad + thread * tileScratchpadBytes);
  }
  for (int64_t row = 0; row < rows; ++row) {
    Sum sums[plainColumns] = {};
    addProducts(lhsFirst + row * p.lhs.row, rhsFirst, depth, columns, sums);
    store(sums, outFirst + row * p.result.row, columns);
  }
}

template <typename T>
void GroupedGemm<T>::addProducts(const T *lhsRow, const T *rhsFirst,
                                 int64_t depth, int64_t columns,
                                 Sum *sums) const {
  for (int64_t k = 0; k < depth; ++k) {
    const Sum factor = widened(lhsRow[k * p.lhs.column]);
    for (int64_t column = 0; column < columns; ++column)
      sums[column] +=
          factor * widened(rhsFirst[k * p.rhs.row + column * p.rhs.column]);
  }
}

template <typename T>
void GroupedGemm<T>::store(const Sum *sums, T *first, int64_t columns) const {
  for (int64_t column = 0; column < columns; ++column)
    round(sums[column], first[column]);
}

template <typename T>
void GroupedGemm<T>::multiplyRows(int64_t batch, int64_t group, int64_t column,
                                  int thread) {
  const Rows rows = rowsOf(batch, group);
  const int64_t columns = columnsFrom(column);
  if (rows.count > 0)
    tile(lhs.at(batch, rows.first, 0), rhs.at(group, 0, column),
         outAt(batch, rows.first, column), rows.count, columns, p.k,
         /*accumulate=*/false, thread);
  const int64_t end = rows.first + rows.count;
  if (group == problem.groups - 1)
    clear(outAt(batch, end, column), p.m - end, columns);
}

template <typename T>
void GroupedGemm<T>::sumRows(int64_t group, int64_t column, int thread) {
  const int64_t columns = columnsFrom(column);
  if (!compute)
    return sumRowsPlainly(group, column, columns);
  T *const first = outAt(group, 0, column);
  bool isFirst = true;
  for (int64_t batch = 0; batch < p.batch; ++batch) {
    const Rows rows = rowsOf(batch, group);
    if (rows.count == 0)
      continue;
    tile(lhs.at(batch, 0, rows.first), rhs.at(batch, rows.first, column), first,
         p.m, columns, rows.count, !isFirst, thread);
    isFirst = false;
  }
  if (isFirst)
    clear(first, p.m, columns);
}

/// A sum is rounded once, however many batches it is over.
template <typename T>
void GroupedGemm<T>::sumRowsPlainly(int64_t group, int64_t column,
                                    int64_t columns) {
  for (int64_t row = 0; row < p.m; ++row) {
    Sum sums[plainColumns] = {};
    for (int64_t batch = 0; batch < p.batch; ++batch) {
      const Rows rows = rowsOf(batch, group);
      addProducts(lhs.at(batch, row, rows.first),
                  rhs.at(batch, rows.first, column), rows.count, columns, sums);
    }
    store(sums, outAt(group, row, column), columns);
  }
}

std::unique_ptr<BoundOperation>
bindGroupedGemm(const GroupedGemmProblem &problem, const GemmOperands &operands,
                const int32_t *sizes, ThreadTeam &team) {
  const auto make = [&]<typename T>(T, TileFunction compute) {
    return std::make_unique<GroupedGemm<T>>(problem, operands, sizes, compute,
                                            team);
  };
  switch (problem.gemm.in) {
  case DType::BF16:
    return make(BFloat16(), nullptr);
  case DType::F16:
    return make(Float16(), nullptr);
  case DType::F64:
    return make(double(), nullptr);
  default: // of a verified plan
    return make(float(), packedTileFunction());
  }
}

} // namespace weft::runtime
