//===- ColumnAccumulators.h - Sums over rows, while they are made -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum over rows has a buffer on the stack, with a number for each column of
// what is walked at a time, and a second one for what these have lost if the
// sum is compensated. The result is stored when all rows have been added.

#ifndef WEFT_LIB_CODEGEN_COLUMNACCUMULATORS_H
#define WEFT_LIB_CODEGEN_COLUMNACCUMULATORS_H

#include "ElementEmitter.h"

#include <map>

namespace weft {

/// A value for an element of a buffer.
struct ElementStore {
  mlir::Value value, buffer;
  LaneIndex at;
};

/// A buffer of `count` elements on the stack; memory is taken where `entry`, of
/// the function, begins, for in a loop it is never given back.
mlir::Value allocateElements(mlir::OpBuilder &b, mlir::Location loc,
                             mlir::Block *entry, mlir::Type element,
                             int64_t count);

class ColumnAccumulators {
public:
  ColumnAccumulators(ElementEmitter &e, llvm::ArrayRef<mlir::Value> results,
                     mlir::Block *entry)
      : e(e), results(results), entry(entry) {}

  /// Buffers for all sums of a loop.
  void allocate(const ColumnLoop &loop, int64_t columns);
  /// The column that the buffers begin with; null for the first one.
  void setFirstColumn(mlir::Value column) { first = column; }

  // At the emitter's column:

  void clear(const ColumnLoop &loop);
  /// Computes the sums with the emitter's row added.
  void addTerms(const ColumnLoop &loop, std::vector<ElementStore> &stores);
  /// Stores the results.
  void finish(const ColumnLoop &loop);

private:
  LaneIndex position();

  struct Buffers {
    mlir::Value sums, errors;
  };
  ElementEmitter &e;
  llvm::ArrayRef<mlir::Value> results;
  mlir::Block *entry;
  mlir::Value first;
  /// By number of the result.
  std::map<unsigned, Buffers> buffers;
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_COLUMNACCUMULATORS_H
