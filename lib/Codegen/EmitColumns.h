//===- EmitColumns.h - A loop over columns in lanes -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The innermost loop of every nest: whole vectors of columns, then those that
// are left over, under a mask.

#ifndef WEFT_LIB_CODEGEN_EMITCOLUMNS_H
#define WEFT_LIB_CODEGEN_EMITCOLUMNS_H

#include "ElementEmitter.h"

namespace weft {

/// Values that go from one vector of columns to the next.
using ColumnSums = llvm::SmallVector<mlir::Value>;

/// Part `part` of `parts` of a loop: a range of its whole vectors, and for the
/// last one the columns that are left over. Null for all of it.
struct ColumnRange {
  mlir::Value part, parts;
};

/// Emits `body` for all columns, with `e.position.column` set and, for those
/// that do not fill a vector, `e.buffers.mask()`. `body` replaces the sums that
/// it is given by the next ones.
void emitColumns(ElementEmitter &e, int64_t columns, ColumnSums &sums,
                 llvm::function_ref<void(ColumnSums &)> body);

/// The same for a range, of a loop without sums.
void emitColumns(ElementEmitter &e, int64_t columns, ColumnRange range,
                 llvm::function_ref<void()> body);

/// Where `body` is to be emitted for all columns of a tile.
using TileWalk = llvm::function_ref<void(llvm::function_ref<void()> body)>;

/// Emits `emitTile` for ranges of at most `tile` columns, a multiple of the
/// lanes: with where a range begins, and what walks it, as often as is wanted.
void emitColumnTiles(
    ElementEmitter &e, int64_t columns, ColumnRange range, int64_t tile,
    llvm::function_ref<void(mlir::Value first, TileWalk walk)> emitTile);

/// `count` * `part` / `parts`: where a part begins, and with `part` + 1 where
/// it ends.
mlir::Value emitCut(ElementEmitter &e, int64_t count, mlir::Value part,
                    mlir::Value parts);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_EMITCOLUMNS_H
