//===- ProductOpInterface.h - An op that is matmuls -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Example:
//   if (auto product = dyn_cast<weft::ProductOpInterface>(operation))
//     seconds += model.gemm(product.getGemm());
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_PRODUCTOPINTERFACE_H
#define WEFT_IR_PRODUCTOPINTERFACE_H

#include "weft/Cost/GemmCost.h"

#include "mlir/IR/OpDefinition.h"

#include "weft/IR/ProductOpInterface.h.inc"

#endif // WEFT_IR_PRODUCTOPINTERFACE_H
