//===- CutRules.h - Ops computed piece by piece -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor is cut along its first dimension that is not 1, so that each piece
// lies in one range of memory. A piece of an op's result is often computed from
// the same piece of some operands and the whole of the others: rows of a matmul
// from rows of its left operand and all of the right one.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_CUTRULES_H
#define WEFT_LIB_SCHEDULE_CUTRULES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace weft {

/// On a collective of which the rows may have any order (FreeOrder.h).
inline constexpr llvm::StringLiteral kFreeOrderAttrName = "weft.free_order";

/// The dimension along which tensors of a type are cut; nothing if none is
/// larger than 1.
std::optional<int64_t> findCutDim(mlir::RankedTensorType type);
std::optional<int64_t> cutDimOf(mlir::Value value);
/// Whether a value can be cut into equal pieces; an op, if it has a rule, and
/// so can its results and what is cut of its operands.
bool canCut(mlir::Value value, int64_t pieces);
bool canCut(mlir::Operation *op, int64_t pieces);
mlir::RankedTensorType pieceOf(mlir::RankedTensorType type, int64_t pieces);

/// For an op of which a piece of the results is computed from pieces of some
/// operands, which ones; nothing for any other op.
std::optional<llvm::SmallVector<bool>> findCutOperands(mlir::Operation *op);

/// Whether an op adds up floats of the rows of its operand: the sum is that of
/// the sums of pieces.
bool isSumOfRows(mlir::Operation *op);

/// An op that is no work, or that is done again by whatever reads its result.
bool isFreeToCompute(mlir::Operation *op);

/// The op that computes one piece of the results from `operands`, in front of
/// `op`; its operands are those of `op`, with pieces where the rules say so.
mlir::Operation *createPiece(mlir::Operation *op, mlir::ValueRange operands,
                             int64_t pieces);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_CUTRULES_H
