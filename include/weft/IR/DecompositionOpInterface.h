//===- DecompositionOpInterface.h - An op by other ops ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Example:
//   if (auto op = dyn_cast<weft::DecompositionOpInterface>(operation)) {
//     weft::TensorBuilder builder(op->getLoc(), op);
//     op->replaceAllUsesWith(op.decompose(builder));
//   }
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_DECOMPOSITIONOPINTERFACE_H
#define WEFT_IR_DECOMPOSITIONOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

namespace weft {
class TensorBuilder;
} // namespace weft

#include "weft/IR/DecompositionOpInterface.h.inc"

#endif // WEFT_IR_DECOMPOSITIONOPINTERFACE_H
