//===- KernelPlan.h - The loops of a kernel ---------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops of a kernel, decided before one instruction is emitted.
//
// A kernel is a list of nests. A nest walks rows; for each row it makes passes
// over the columns. A reduction over trailing dimensions becomes one number a
// row and is known to later passes; a reduction over leading dimensions adds
// each row to its result. A scatter_add has a nest of its own. Everything else
// is computed where it is needed.
//
// Example: softmax of tensor<4x8xf32> is one nest of 4 rows and 8 columns with
// three passes: the maximum; the sum of the exponentials, which are kept in a
// buffer of 8 numbers; the quotients.

#ifndef WEFT_LIB_CODEGEN_KERNELPLAN_H
#define WEFT_LIB_CODEGEN_KERNELPLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace weft {

/// Rows that a blocked nest takes at a time: a transposed read touches a cache
/// line for each lane, and this many rows use it up.
inline constexpr int64_t blockedRows = 16;

/// A result of the kernel. `value` is the returned value without the reshapes
/// that only rename its elements.
struct KernelRoot {
  unsigned result;
  mlir::Value value;
  /// Where `value` is a sum over rows whose elements are finished before they
  /// are stored (a gradient that is rounded, or added to that of other
  /// micro-batches): what is stored, else null.
  mlir::Value finished = {};
};

/// One loop over `columns` columns of a row.
struct ColumnLoop {
  int64_t columns;
  /// Reductions over the columns that become numbers of the row.
  std::vector<mlir::linalg::GenericOp> reductions;
  /// Results of which this loop writes the row.
  std::vector<KernelRoot> writes;
  /// Results to which this loop adds the row.
  std::vector<KernelRoot> accumulations;
};

/// How a nest is cut when several threads execute a kernel. No sum is cut, so
/// that numbers do not depend on the cut.
enum class NestCut {
  /// Each part walks some of the rows.
  Rows,
  /// Each part walks all rows, a range of their columns.
  Columns,
  /// One part does all of it.
  None,
};

struct KernelNest {
  /// A result that a scatter_add fills. Such a nest walks the indices instead
  /// of rows of the result, and has nothing else.
  std::optional<KernelRoot> scatter;
  int64_t rows = 1;
  /// In order; loops of one pass are independent.
  std::vector<std::vector<ColumnLoop>> passes;
  /// The row reductions of all passes.
  llvm::SetVector<mlir::Operation *> reductions;
  /// Costly values that several passes need: computed by the first and kept, a
  /// row of them, in a buffer of the given number of elements.
  llvm::MapVector<mlir::Value, int64_t> kept;
  /// Rows are taken in blocks, a few columns at a time, because some operand is
  /// read across its rows (a transpose).
  bool blocked = false;

  NestCut cut() const;
  /// The most parts that have something to do.
  int64_t maxParts() const;
};

struct KernelPlan {
  std::vector<KernelNest> nests;
};

/// Checks that the body of `kernel` is one that can be emitted (diagnostics
/// otherwise) and decides its loops.
mlir::FailureOr<KernelPlan> planKernel(mlir::func::FuncOp kernel);

/// The operation of a reduction's region that combines a new element with the
/// result so far, or null if the region is not of this form or has no neutral
/// element.
mlir::Operation *getCombiner(mlir::linalg::GenericOp reduction);

/// Whether an operand of an element-wise operation is read along another
/// dimension than its last one while the last dimension of the result varies.
bool readsAcrossRows(mlir::linalg::GenericOp op, mlir::OpOperand &operand);

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

/// The number of leading dimensions that make up `rows` rows of `columns`
/// columns, or nothing if no split of the shape does.
std::optional<unsigned> splitShape(llvm::ArrayRef<int64_t> shape, int64_t rows,
                                   int64_t columns);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_KERNELPLAN_H
