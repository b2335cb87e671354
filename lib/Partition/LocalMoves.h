//===- LocalMoves.h - Elements that change the device -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_LOCALMOVES_H
#define WEFT_LIB_PARTITION_LOCALMOVES_H

#include "ElementMoves.h"
#include "LocalForms.h"

namespace weft {

/// The axes over which the dimension of a move is split in all operands and in
/// the result: its elements are exchanged. Empty if it is not so.
sharding::AxisList movedAxes(const LocalForm &form, const ElementMove &move);

/// An exchange that is a part of `op`, of a map between what the members of the
/// axes have. `what`: the value that is moved, in words.
mlir::Value createExchange(mlir::OpBuilder &builder, mlir::Operation *op,
                           mlir::Value value, int64_t dim,
                           const sharding::ElementMap &map,
                           const sharding::AxisList &axes,
                           const MeshContext &context, const std::string &what);

/// Elements [start, start + size) of a dimension, or as many `stride` apart.
mlir::Value createCut(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, int64_t dim, int64_t start,
                      int64_t size, int64_t stride = 1);

/// What the slice leaves of `value` along the dimension of the move.
mlir::Value exchangeSlice(mlir::OpBuilder &builder, mlir::Operation *op,
                          mlir::Value value, const ElementMove &move,
                          const sharding::AxisList &axes,
                          const MeshContext &context);

/// The same where the op does nothing else (findSlice), in an exchange for all
/// slices of the operand like it, whose type was `global`.
mlir::Value exchangeSlices(mlir::OpBuilder &builder, mlir::Operation *op,
                           mlir::RankedTensorType global,
                           const ElementMove &move,
                           const sharding::AxisList &axes,
                           const MeshContext &context);

} // namespace weft

#endif // WEFT_LIB_PARTITION_LOCALMOVES_H
