//===- LocalFormOpInterface.h - An op on shards -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_LOCALFORMOPINTERFACE_H
#define WEFT_IR_LOCALFORMOPINTERFACE_H

#include "weft/IR/WeftAttrs.h"

#include "mlir/IR/OpDefinition.h"

namespace weft {

/// The mesh of a program, and how ops name it.
struct MeshContext {
  mlir::FlatSymbolRefAttr symbol;
  sharding::Mesh mesh;

  AxesAttr axes(llvm::ArrayRef<sharding::AxisRef> axes) const {
    return AxesAttr::get(symbol.getContext(), symbol, mesh, axes);
  }
};

/// What is known of an op that is to be computed on shards.
struct LocalForm {
  const MeshContext &context;
  /// Of the operands, before they got their local types.
  llvm::SmallVector<mlir::RankedTensorType> globalTypes;
  llvm::SmallVector<ShardingAttr> operands;
  /// Of the results: the types that they are to have.
  llvm::SmallVector<mlir::RankedTensorType> types;
  llvm::SmallVector<ShardingAttr> results;
  /// Whether ops that plans for CPUs have instructions for stay as they are.
  bool keepsCpuInstructions = false;

  /// The axes that split a dimension, empty if it is whole.
  sharding::AxisList axesOfOperand(unsigned operand, int64_t dim) const {
    return axesOf(operands[operand], dim);
  }
  sharding::AxisList axesOfResult(int64_t dim) const {
    return axesOf(results.front(), dim);
  }

private:
  sharding::AxisList axesOf(ShardingAttr attr, int64_t dim) const {
    sharding::AxisList axes = attr.toSharding(context.mesh)->dims[dim].axes;
    return numShards(axes) > 1 ? axes : sharding::AxisList();
  }
};

} // namespace weft

#include "weft/IR/LocalFormOpInterface.h.inc"

#endif // WEFT_IR_LOCALFORMOPINTERFACE_H
