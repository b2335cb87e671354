//===- PieceWriter.h - A region of a program in pieces ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces ops of a block by one for each piece of their results (CutRules.h).
// Pieces of what is made elsewhere are slices of it, and where a whole result
// is needed elsewhere, it is the concat of its pieces. Both are parts of
// buffers, and move nothing.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_PIECEWRITER_H
#define WEFT_LIB_SCHEDULE_PIECEWRITER_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace weft {

/// The number of the piece that an op computes, from 0, and how many there are:
/// no kernel has ops of two.
inline constexpr llvm::StringLiteral kPieceAttrName = "weft.piece";
void markPiece(mlir::Operation *op, int64_t number, int64_t pieces);

/// The pieces of a value, right behind it; parts of its buffer where they can
/// be.
llvm::SmallVector<mlir::Value> createSlices(mlir::Value value,
                                            mlir::Block &block, int64_t pieces);

/// `ops` are of the block, and each has a rule.
void writeInPieces(mlir::Block &block,
                   const llvm::DenseSet<mlir::Operation *> &ops,
                   int64_t pieces);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_PIECEWRITER_H
