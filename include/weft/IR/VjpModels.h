//===- VjpModels.h - Derivatives of upstream ops ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives the floating-point ops of `arith` and `math` a VjpOpInterface. Where a
// function has no derivative, the rules agree with JAX: equal arguments of a
// maximum share its cotangent, the slope of |x| at 0 is 1.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_VJPMODELS_H
#define WEFT_IR_VJPMODELS_H

namespace mlir {
class DialectRegistry;
}

namespace weft {

void registerVjpModels(mlir::DialectRegistry &registry);

} // namespace weft

#endif // WEFT_IR_VJPMODELS_H
