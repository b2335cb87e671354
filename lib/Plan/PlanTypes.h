//===- PlanTypes.h - Types, axes and locations in the schema ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions from the compiler's attributes and types to those of
// runtime/schema/plan.fbs.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PLAN_PLANTYPES_H
#define WEFT_LIB_PLAN_PLANTYPES_H

#include "weft/IR/WeftAttrs.h"
#include "weft/runtime/plan_generated.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft {

/// `type` is one of the element types of the dialect.
plan::DType toDType(mlir::Type type);
plan::CollectiveKind toCollectiveKind(cost::CollectiveKind kind);

plan::AxisListT toAxisList(llvm::ArrayRef<sharding::AxisRef> axes);
plan::AxisListT toAxisList(const sharding::Mesh &mesh, AxesAttr axes);

/// Where a tensor crosses the border of an entry: its local type, its type
/// before partitioning, and its sharding, which may be null (not split).
std::unique_ptr<plan::TensorTypeT> toTensorType(const sharding::Mesh &mesh,
                                                mlir::RankedTensorType local,
                                                mlir::RankedTensorType global,
                                                ShardingAttr sharding);
std::unique_ptr<plan::TensorTypeT> argumentType(const sharding::Mesh &mesh,
                                                mlir::func::FuncOp entry,
                                                unsigned index);
std::unique_ptr<plan::TensorTypeT> resultType(const sharding::Mesh &mesh,
                                              mlir::func::FuncOp entry,
                                              unsigned index);

/// The values of the graph among the results of a function, sources first.
std::vector<std::unique_ptr<plan::ObservedValueT>>
toObserved(mlir::func::FuncOp entry);

/// `file:line` of the first source position in `location`, without the folder
/// of the file, so that plans do not depend on where they are compiled; empty
/// if there is none.
std::string toSourcePosition(mlir::Location location);

/// The elements as the runtime lays them out: row-major, a predicate a byte.
std::vector<uint8_t> toBytes(mlir::ElementsAttr elements);

} // namespace weft

#endif // WEFT_LIB_PLAN_PLANTYPES_H
