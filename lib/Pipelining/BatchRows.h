//===- BatchRows.h - What the rows of a batch are computed to ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a step on a whole batch can be computed a few rows at a time, and
// what of it: the same question as whether devices can have a part of the rows
// each, so that the sharding rules of ops answer it.
//
//   %h = dot_general %x, %w        rows, as %x has
//   %l = reduce sum %h             a term: the sum over micro-batches is %l
//   %m = divf %l, %n               behind the loop
//
// What needs no parameter and no matmul (a mask, the number of its elements) is
// there before the loop as a whole, and sliced or recomputed for the rows
// where these are wanted.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PIPELINING_BATCHROWS_H
#define WEFT_LIB_PIPELINING_BATCHROWS_H

#include "weft/Sharding/ShardingRule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace weft {

/// Where a tensor has the rows of the batch: along a dimension, `inner`
/// elements of one row after those of another. Other dimensions may have been
/// joined to it on both sides.
struct Rows {
  int64_t dim = 0, inner = 1;

  bool operator==(const Rows &other) const = default;
};

/// The factor of an op that the rows are in, and the elements of each there.
struct RowFactor {
  int32_t factor = 0;
  int64_t inner = 1;

  bool operator==(const RowFactor &other) const = default;
};

std::optional<RowFactor> findRowFactor(const sharding::ShardingRule &rule,
                                       const sharding::TensorFactors &tensor,
                                       Rows rows, int64_t batch);
/// Where a tensor has the rows; nothing if it does not have the factor.
std::optional<Rows> findRows(const sharding::ShardingRule &rule,
                             const sharding::TensorFactors &tensor,
                             RowFactor factor);

/// That of the op; of a stage boundary as of an element-wise op.
std::optional<sharding::ShardingRule> ruleOf(mlir::Operation *op);
/// Whether `op` on some of the rows computes its result for these rows. Those
/// that count along them, for one, do not.
bool keepsRows(mlir::Operation *op, const sharding::ShardingRule &rule,
               RowFactor factor);

/// The arguments that a result replaces.
llvm::DenseSet<mlir::Value> findStates(mlir::func::FuncOp entry);

/// What becomes of a value.
enum class Share : uint8_t {
  /// There before the loop.
  Whole,
  /// Each micro-batch has its rows.
  Rows,
  /// Each micro-batch has a term of a sum.
  Term,
  /// In the loop, one for all micro-batches: behind a barrier.
  Same,
  /// There after the loop.
  Total,
};

struct Part {
  Share share = Share::Whole;
  /// Of Share::Rows. Of what is one for all micro-batches: where it has rows of
  /// the batch, if it is known to.
  std::optional<Rows> rows;
};

class BatchRows {
public:
  /// The arguments that are the batch have its rows along their first
  /// dimension.
  BatchRows(mlir::func::FuncOp entry,
            llvm::ArrayRef<mlir::BlockArgument> arguments);

  /// Whether anything is left to a loop, and all boundaries of stages.
  bool formsLoop() const { return hasLoop && boundariesOutside.empty(); }
  bool isLegal() const { return problems.empty(); }
  /// Boundaries on what is the same for all micro-batches.
  llvm::ArrayRef<mlir::Operation *> getBoundariesOutside() const {
    return boundariesOutside;
  }
  /// The names of the arguments, quoted.
  std::string nameBatch() const;
  /// All that cannot be split.
  void report(int64_t microbatches) const;

  int64_t getBatch() const { return batch; }
  /// Matmuls and boundaries that are computed for some rows at a time.
  int64_t countHeavy() const { return numHeavy; }
  Part of(mlir::Value value) const { return parts.lookup(value); }
  /// The factor that the rows are in where an op of the loop has any.
  std::optional<RowFactor> factorOf(mlir::Operation *op) const;

private:
  struct Problem {
    mlir::Operation *op;
    /// That needs the sum `op` as a whole; null if `op` itself is the problem.
    mlir::Operation *user;
  };

  void visit(mlir::Operation *op);
  void visitBehindTerms(mlir::Operation *op);
  bool scalesTerm(mlir::Operation *op) const;
  void visitInLoop(mlir::Operation *op, RowFactor factor);
  void visitWhole(mlir::Operation *op);
  bool splits(mlir::Operation *op, RowFactor factor) const;
  void placeResults(mlir::Operation *op, RowFactor factor);
  void setAll(mlir::Operation *op, Part part);
  mlir::Operation *findTerm(mlir::Value value) const;

  mlir::func::FuncOp entry;
  llvm::SmallVector<mlir::BlockArgument> arguments;
  int64_t batch;
  llvm::DenseMap<mlir::Value, Part> parts;
  /// What depends on a state, or takes a matmul.
  llvm::DenseSet<mlir::Value> costly;
  llvm::DenseMap<mlir::Operation *, RowFactor> factors;
  llvm::SmallVector<Problem> problems;
  llvm::SmallVector<mlir::Operation *> boundariesOutside;
  bool hasLoop = false;
  int64_t numHeavy = 0;
};

} // namespace weft

#endif // WEFT_LIB_PIPELINING_BATCHROWS_H
