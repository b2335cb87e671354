//===- WindowOps.h - Composites on windows ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weft.convolution and weft.reduce_window, and the derivative of the latter for
// those who find it in a program.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_WINDOWOPS_H
#define WEFT_IR_WINDOWOPS_H

#include "weft/IR/TensorBuilder.h"
#include "weft/IR/WeftOps.h"

#define GET_OP_CLASSES
#include "weft/IR/WindowOps.h.inc"

namespace weft {

/// The windows of a tensor along one dimension.
struct Windows {
  int64_t dim, size, stride, dilation = 1;
};

/// The transpose of the op: `g`, which has an element for each window of `x`,
/// added up where the windows have their elements; or, given the extremum of
/// each window, where the first element is that equals it.
mlir::Value spreadOverWindows(TensorBuilder &b, mlir::Value x, mlir::Value g,
                              const Windows &windows,
                              mlir::Value extremum = {});

} // namespace weft

#endif // WEFT_IR_WINDOWOPS_H
