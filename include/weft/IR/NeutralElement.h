//===- NeutralElement.h - What changes no sum or maximum --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_NEUTRALELEMENT_H
#define WEFT_IR_NEUTRALELEMENT_H

#include "weft/Sharding/Sharding.h"

#include "mlir/IR/BuiltinAttributeInterfaces.h"

namespace weft {

/// What leaves every element of the type unchanged when combined with it.
mlir::TypedAttr neutralElement(mlir::Type type, sharding::Reduction reduction);

} // namespace weft

#endif // WEFT_IR_NEUTRALELEMENT_H
