//===- SplatConstant.cpp - Tensors with one value for all elements --------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplatConstant.h"

#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

DenseElementsAttr weft::findSplat(Value tensor) {
  if (auto broadcast = tensor.getDefiningOp<BroadcastOp>())
    tensor = broadcast.getOperand();
  auto constant = tensor.getDefiningOp<arith::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  return elements && elements.isSplat() ? elements : DenseElementsAttr();
}
