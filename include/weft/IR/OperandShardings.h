//===- OperandShardings.h - In which shardings ops take operands *- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Once it is chosen how the ops of a graph are split, each has the attribute
// `weft.operand_shardings`: an array with a `#weft.sharding` for each operand
// that it takes in one. A barrier has one, for its first: for the others it
// waits wherever they are. `weft.shardings` says how the results are left.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_OPERANDSHARDINGS_H
#define WEFT_IR_OPERANDSHARDINGS_H

#include "weft/IR/WeftAttrs.h"

#include "mlir/IR/Operation.h"

namespace weft {

inline constexpr llvm::StringLiteral kOperandShardingsAttrName =
    "weft.operand_shardings";

/// Null if nothing was chosen for the op.
mlir::ArrayAttr getOperandShardings(mlir::Operation *op);
/// The sharding in which the op takes operand `index`; null if none was chosen.
ShardingAttr getOperandSharding(mlir::Operation *op, unsigned index);
void setOperandShardings(mlir::Operation *op,
                         llvm::ArrayRef<mlir::Attribute> shardings);
void removeOperandShardings(mlir::Operation *op);

} // namespace weft

#endif // WEFT_IR_OPERANDSHARDINGS_H
