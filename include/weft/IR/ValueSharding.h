//===- ValueSharding.h - The sharding of a value ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that knows where a sharding is stored:
//   function argument   argument attribute `weft.sharding`
//   function result     result attribute `weft.sharding`
//   op result           its element of the op's `weft.shardings`
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_VALUESHARDING_H
#define WEFT_IR_VALUESHARDING_H

#include "weft/IR/WeftAttrs.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"

namespace weft {

/// The sharding of an op result or function argument; null if it has none.
ShardingAttr getSharding(mlir::Value value);
/// Sets it. The other results of the op, where they have none yet, become
/// open. `value` is an op result or an argument of a func.func.
void setSharding(mlir::Value value, ShardingAttr sharding);
/// Removes the shardings of all results of `op`.
void removeShardings(mlir::Operation *op);

/// The sharding of result `index` of a function; null if it has none.
ShardingAttr getResultSharding(mlir::func::FuncOp function, unsigned index);
void setResultSharding(mlir::func::FuncOp function, unsigned index,
                       ShardingAttr sharding);

/// `weft.name` of an argument or result; `argN` or `resultN` if it has none.
std::string getArgumentName(mlir::func::FuncOp function, unsigned index);
std::string getResultName(mlir::func::FuncOp function, unsigned index);

/// The type of an argument or result before partitioning: `weft.global_type`,
/// or the type itself where that attribute is absent.
mlir::RankedTensorType getGlobalArgumentType(mlir::func::FuncOp function,
                                             unsigned index);
mlir::RankedTensorType getGlobalResultType(mlir::func::FuncOp function,
                                           unsigned index);

/// The mesh of the module around `from` (the first, if there are several);
/// null if there is none.
MeshOp findMesh(mlir::Operation *from);
/// The mesh that `symbol` names, seen from `from`; null if there is none.
MeshOp findMesh(mlir::Operation *from, mlir::FlatSymbolRefAttr symbol);

/// Every broken legality rule of `sharding` as the layout of a tensor of
/// `rank`, each as a sentence that can follow "sharding of ...: ". The mesh is
/// looked up from `from`.
std::vector<std::string> checkShardingAttr(mlir::Operation *from,
                                           ShardingAttr sharding, size_t rank);

} // namespace weft

#endif // WEFT_IR_VALUESHARDING_H
