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

/// Emits `body` for all columns, with `e.column` set and, for those that do not
/// fill a vector, `e.mask`. `body` replaces the sums that it is given by the
/// next ones.
void emitColumns(ElementEmitter &e, int64_t columns, ColumnSums &sums,
                 llvm::function_ref<void(ColumnSums &)> body);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_EMITCOLUMNS_H
