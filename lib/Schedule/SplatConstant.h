//===- SplatConstant.h - Tensors with one value for all elements -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_SPLATCONSTANT_H
#define WEFT_LIB_SCHEDULE_SPLATCONSTANT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"

namespace weft {

/// The constant that gives all elements of a tensor one value, itself or
/// through a broadcast; null where there is none.
mlir::DenseElementsAttr findSplat(mlir::Value tensor);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_SPLATCONSTANT_H
