//===- VjpOpInterface.h - Derivative of an op -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Example:
//   if (auto op = dyn_cast<weft::VjpOpInterface>(operation))
//     op.buildVjp(builder);
//
// What a rule works with is in VjpBuilder.h.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_VJPOPINTERFACE_H
#define WEFT_IR_VJPOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

namespace weft {
class VjpBuilder;
} // namespace weft

#include "weft/IR/VjpOpInterface.h.inc"

#endif // WEFT_IR_VJPOPINTERFACE_H
