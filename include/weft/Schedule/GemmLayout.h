//===- GemmLayout.h - Strides of a GEMM -------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GEMM has four loops (batch, m, n, k) and walks each tensor with one stride
// a loop. A dot_general has any number of dimensions of each kind, and its
// operands may be transposed or reshaped views of the tensors in memory. This
// file finds, for each kind, an order of its dimensions in which they collapse
// to one loop in every tensor, so that nothing has to be moved; where there is
// none, it says which tensor to copy to a layout that works.
//
// Example: dW = dot_general(x: 4x8x16, dy: 4x8x32) contracting [0,1] x [0,1]
//   k = 32 collapses dims 0 and 1 of both; x is walked with strides
//   [m=1, k=16], a transposed operand; nothing is copied.
//
// Plain values; the pass is in LowerGemms.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SCHEDULE_GEMMLAYOUT_H
#define WEFT_SCHEDULE_GEMMLAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>
#include <optional>

namespace weft {

/// A dimension of a view: its size and its distance in memory, in elements.
struct StridedDim {
  int64_t size;
  int64_t stride;

  bool operator==(const StridedDim &other) const = default;
};

/// A tensor in memory as some user sees it, one element a dimension.
using StridedView = llvm::SmallVector<StridedDim, 4>;

/// The view of a contiguous tensor.
StridedView rowMajorView(llvm::ArrayRef<int64_t> shape);
/// Dimension i of the result is dimension `dims[i]` of `view`.
StridedView transposedView(const StridedView &view,
                           llvm::ArrayRef<int64_t> dims);
/// The same elements in row-major order of the view under another shape; none
/// if that would need to move data.
std::optional<StridedView> reshapedView(const StridedView &view,
                                        llvm::ArrayRef<int64_t> shape);

/// The tensors of a GEMM, and its loops.
enum GemmTensor { GemmLhs = 0, GemmRhs = 1, GemmOut = 2 };
enum GemmLoop { GemmBatch = 0, GemmM = 1, GemmN = 2, GemmK = 3 };

/// One index of a dot_general: its dimension in lhs, rhs and out, -1 where the
/// tensor does not have it.
using GemmIndex = std::array<int64_t, 3>;

/// A dot_general over views.
struct GemmProblem {
  /// By GemmTensor.
  std::array<StridedView, 3> views;
  /// Bytes of each tensor: what copying it costs.
  std::array<int64_t, 3> bytes;
  /// By GemmLoop: the indices that the loop stands for, in any order.
  std::array<llvm::SmallVector<GemmIndex, 2>, 4> indices;
};

struct GemmLayout {
  /// By GemmLoop.
  std::array<int64_t, 4> sizes;
  /// By GemmTensor, then [batch, m, k], [batch, k, n] or [batch, m, n].
  std::array<std::array<int64_t, 3>, 3> strides;
  /// Tensors whose view does not work. They are to be copied to (out: from) the
  /// row-major layout whose dimensions are `order`: dimensions of the view.
  std::array<bool, 3> copied = {};
  std::array<llvm::SmallVector<int64_t, 4>, 3> order;
  /// Bytes of the copied tensors.
  int64_t copiedBytes = 0;
};

/// The layout that copies the fewest bytes; the first one found among equals.
GemmLayout chooseGemmLayout(const GemmProblem &problem);

} // namespace weft

#endif // WEFT_SCHEDULE_GEMMLAYOUT_H
