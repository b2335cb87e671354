//===- MicrobatchExits.h - What leaves a loop, as ops -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_MICROBATCHEXITS_H
#define WEFT_IR_MICROBATCHEXITS_H

#include "mlir/IR/Builders.h"

namespace weft {

/// On a weft.repeat of forms 3 and 4: the loop over micro-batches that it is.
inline constexpr llvm::StringLiteral kLoopAttrName = "weft.microbatches";

/// What a sum or stack over micro-batches begins with: changes no value that is
/// added to it, not even the sign of a zero.
mlir::Value makeInit(mlir::OpBuilder &builder, mlir::Operation *exit);

/// `carried`, a sum or stack of the micro-batches before, with the value of one
/// more. A stack needs its number, an i32.
mlir::Value addMicrobatch(mlir::OpBuilder &builder, mlir::Operation *exit,
                          mlir::Value carried, mlir::Value value,
                          mlir::Value index);

} // namespace weft

#endif // WEFT_IR_MICROBATCHEXITS_H
