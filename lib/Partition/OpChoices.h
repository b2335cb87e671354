//===- OpChoices.h - The split of every op of a function --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_OPCHOICES_H
#define WEFT_LIB_PARTITION_OPCHOICES_H

#include "FactorChoice.h"

#include "weft/IR/ShardingRuleOpInterface.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft {

/// In which shardings the ops of a function take their operands and leave their
/// results; without constraints, and the return.
using OpChoices = llvm::DenseMap<mlir::Operation *, FactorSolution>;

/// Whether an op computes nothing on a device, and takes its first operand as
/// it is, partial sums too: a barrier, and what enters and leaves a
/// micro-batch. `unreduced`: the operand's terms.
bool passesOn(mlir::Operation *op, const sharding::Sharding &operand);
/// Whether micro-batches, or what is recomputed, take a value that a constraint
/// outside of them moves, or the cast of one: it is moved once, before them.
bool movesBefore(mlir::Operation *op);

/// A conversion after which an element takes more bytes and holds no more.
bool takesMoreBytes(mlir::Operation *op);

/// Whether the value is only added up over micro-batches, by linear ops:
/// its terms can be reduced after the last one. Constraints and reshards on the
/// way say how the sum is split.
bool isAddedUp(mlir::Value value);

/// How an op commutes with sums over devices, where it is worth while. On their
/// sum a division costs nothing, as a part of the kernel that uses it; on
/// partial sums it is a kernel of its own. It stays with those that
/// micro-batches only add up, as a mean loss, to be reduced once a step.
sharding::Linearity usefulLinearity(ShardingRuleOpInterface op);

/// The choices of ops that obey what propagation gave their results, one after
/// the other in program order.
class FollowPropagation {
public:
  explicit FollowPropagation(ReshardPrices &prices) : prices(prices) {}

  OpChoices run(mlir::func::FuncOp function);

private:
  ReshardPrices &prices;
  std::map<std::vector<int64_t>, FactorSolution> solutions;
};

} // namespace weft

#endif // WEFT_LIB_PARTITION_OPCHOICES_H
