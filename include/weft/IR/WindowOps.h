//===- WindowOps.h - Composites on windows ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weft.convolution, weft.reduce_window and its transpose.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_WINDOWOPS_H
#define WEFT_IR_WINDOWOPS_H

#include "weft/IR/TensorBuilder.h"
#include "weft/IR/WeftOps.h"

#define GET_OP_CLASSES
#include "weft/IR/WindowOps.h.inc"

namespace weft {

/// The windows of a tensor along one dimension, to which first `low` and `high`
/// elements are added.
struct Windows {
  int64_t dim, size, stride, dilation = 1, low = 0, high = 0;

  /// Elements from the first to the last of a window.
  int64_t span() const { return (size - 1) * dilation + 1; }
  /// How many there are of a dimension.
  int64_t count(int64_t elements) const {
    return (elements + low + high - span()) / stride + 1;
  }
};

/// Of a reduction of windows or its transpose.
template <typename Op> Windows windowsOf(Op op) {
  return {int64_t(op.getDim()),    int64_t(op.getSize()),
          int64_t(op.getStride()), int64_t(op.getDilation()),
          int64_t(op.getLow()),    int64_t(op.getHigh())};
}

/// What is added up for an element of x by the derivative of a reduction of its
/// windows: `g`, where it is the extremum of each window, or everywhere.
mlir::Value spreadOverWindows(TensorBuilder &b, mlir::Value x, mlir::Value g,
                              const Windows &windows,
                              mlir::Value extremum = {});

} // namespace weft

#endif // WEFT_IR_WINDOWOPS_H
