//===- GemmLayout.cpp - Strides of a GEMM ---------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/GemmLayout.h"

#include "llvm/ADT/STLExtras.h"

namespace weft {

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

StridedView rowMajorView(llvm::ArrayRef<int64_t> shape) {
  StridedView view(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    view[i] = {shape[i], stride};
  return view;
}

StridedView transposedView(const StridedView &view,
                           llvm::ArrayRef<int64_t> dims) {
  StridedView result;
  for (int64_t dim : dims)
    result.push_back(view[dim]);
  return result;
}

std::optional<StridedView> reshapedView(const StridedView &view,
                                        llvm::ArrayRef<int64_t> shape) {
  // Runs of dimensions that are contiguous among themselves, major to minor.
  // Dimensions of size 1 say nothing about memory.
  StridedView runs;
  for (StridedDim dim : view) {
    if (dim.size == 1)
      continue;
    if (!runs.empty() && runs.back().stride == dim.size * dim.stride)
      runs.back() = {runs.back().size * dim.size, dim.stride};
    else
      runs.push_back(dim);
  }
  // Cut the new dimensions off the runs, minor to major.
  StridedView result(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    result[i] = {shape[i], 1};
    if (shape[i] == 1)
      continue;
    if (runs.empty() || runs.back().size % shape[i] != 0)
      return std::nullopt;
    StridedDim &run = runs.back();
    result[i].stride = run.stride;
    run = {run.size / shape[i], run.stride * shape[i]};
    if (run.size == 1)
      runs.pop_back();
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

namespace {

using Indices = llvm::SmallVector<GemmIndex, 2>;
using LoopOrders = std::array<Indices, 4>;

/// The loops that walk a tensor: [batch, row, column].
constexpr GemmLoop loopsOf[3][3] = {{GemmBatch, GemmM, GemmK},
                                    {GemmBatch, GemmK, GemmN},
                                    {GemmBatch, GemmM, GemmN}};

/// The dimensions that `indices`, major to minor, have in a view as one
/// dimension. Stride 0 stands for any stride: the size is 1.
std::optional<StridedDim> collapse(const StridedView &view, GemmTensor tensor,
                                   const Indices &indices) {
  StridedDim result = {1, 0};
  for (const GemmIndex &index : indices) {
    StridedDim dim = view[index[tensor]];
    if (dim.size == 1)
      continue;
    if (result.size != 1 && result.stride != dim.size * dim.stride)
      return std::nullopt;
    result = {result.size * dim.size, dim.stride};
  }
  return result;
}

/// Strides of [batch, row, column] for a view, if it works.
std::optional<std::array<int64_t, 3>>
stridesOf(const StridedView &view, GemmTensor tensor, const LoopOrders &loops) {
  std::array<StridedDim, 3> dims;
  for (int i = 0; i < 3; ++i) {
    auto dim = collapse(view, tensor, loops[loopsOf[tensor][i]]);
    if (!dim)
      return std::nullopt;
    dims[i] = *dim;
  }
  auto &[batch, row, column] = dims;
  // A loop of one iteration may have any stride: take those of a dense matrix.
  if (column.stride == 0)
    column.stride = row.stride == 1 ? row.size : 1;
  if (row.stride == 0)
    row.stride = column.stride == 1 ? column.size : 1;
  if (row.stride != 1 && column.stride != 1)
    return std::nullopt;
  if (batch.stride == 0)
    batch.stride = row.size * column.size;
  return std::array<int64_t, 3>{batch.stride, row.stride, column.stride};
}

/// The indices of one loop by falling stride in one tensor.
Indices sortedByStride(Indices indices, const StridedView &view,
                       GemmTensor tensor) {
  llvm::stable_sort(indices, [&](const GemmIndex &a, const GemmIndex &b) {
    return view[a[tensor]].stride > view[b[tensor]].stride;
  });
  return indices;
}

/// The orders of a loop's indices worth trying: that of memory in each tensor
/// which has them.
llvm::SmallVector<Indices, 3> candidateOrders(const GemmProblem &problem,
                                              GemmLoop loop) {
  const Indices &indices = problem.indices[loop];
  if (indices.size() < 2)
    return {indices};
  llvm::SmallVector<Indices, 3> orders;
  for (GemmTensor tensor : {GemmOut, GemmLhs, GemmRhs}) {
    if (indices.front()[tensor] < 0)
      continue;
    Indices order = sortedByStride(indices, problem.views[tensor], tensor);
    if (!llvm::is_contained(orders, order))
      orders.push_back(std::move(order));
  }
  return orders;
}

/// The layout for given orders of the loops' indices.
GemmLayout layOut(const GemmProblem &problem, const LoopOrders &loops) {
  GemmLayout layout;
  for (GemmTensor tensor : {GemmLhs, GemmRhs, GemmOut}) {
    const StridedView &view = problem.views[tensor];
    if (auto strides = stridesOf(view, tensor, loops)) {
      layout.strides[tensor] = *strides;
      continue;
    }
    llvm::SmallVector<int64_t, 4> shape;
    for (GemmLoop loop : loopsOf[tensor])
      for (const GemmIndex &index : loops[loop]) {
        layout.order[tensor].push_back(index[tensor]);
        shape.push_back(view[index[tensor]].size);
      }
    StridedView copy = rowMajorView(shape), seen(shape.size());
    for (auto [position, dim] : llvm::enumerate(layout.order[tensor]))
      seen[dim] = copy[position];
    layout.strides[tensor] = *stridesOf(seen, tensor, loops);
    layout.copied[tensor] = true;
    layout.copiedBytes += problem.bytes[tensor];
  }
  for (GemmLoop loop : {GemmBatch, GemmM, GemmN, GemmK}) {
    layout.sizes[loop] = 1;
    GemmTensor tensor = loop == GemmN ? GemmRhs : GemmLhs;
    for (const GemmIndex &index : loops[loop])
      layout.sizes[loop] *= problem.views[tensor][index[tensor]].size;
  }
  return layout;
}

} // namespace

GemmLayout chooseGemmLayout(const GemmProblem &problem) {
  std::optional<GemmLayout> best;
  for (const Indices &batch : candidateOrders(problem, GemmBatch))
    for (const Indices &m : candidateOrders(problem, GemmM))
      for (const Indices &n : candidateOrders(problem, GemmN))
        for (const Indices &k : candidateOrders(problem, GemmK)) {
          GemmLayout layout = layOut(problem, {batch, m, n, k});
          if (!best || layout.copiedBytes < best->copiedBytes)
            best = std::move(layout);
        }
  return *best;
}

} // namespace weft
