//===- ProgramCalls.h - The collectives that choices lead to ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The collectives of a function, from where to where in it each can be called,
// and so which become one call. This follows --weft-combine-collectives: what
// is small and made of arguments alone is *early*, made before all else, and
// what *follows* a collective is computed of its result and moves down with it.
//
// A position is that of a step, an op or the calls of a reshard, in the order
// in which they are added. Calls come in front of the first op that needs what
// they make.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_PROGRAMCALLS_H
#define WEFT_LIB_PARTITION_PROGRAMCALLS_H

#include "ReshardPrices.h"

namespace weft {

class ProgramCalls {
public:
  /// A value in one sharding.
  struct Version {
    /// The position from which on it is ready; 0 if it is early.
    size_t ready = 0;
    /// The step that makes it; -1 for an argument.
    int32_t maker = -1;
    /// It is made by calls, or follows one.
    bool moves = false;
  };
  /// What an op can do, by its kind and by the sizes of its tensors.
  struct Mobility {
    bool canBeEarly = false;
    bool canFollow = false;
  };

  /// The versions of the results of an op. Ops are added in program order,
  /// after all that they take.
  Version addOp(mlir::Operation *op, llvm::ArrayRef<Version> operands,
                Mobility mobility);
  /// The version that calls make of `source`, a version of `value`. `weight`:
  /// `runs`, how often they are made, times the share of their latency that
  /// counts.
  Version addCalls(mlir::Value value, llvm::ArrayRef<ReshardPrices::Call> calls,
                   const Version &source, double weight, double runs);
  /// The value as its op makes it.
  void define(mlir::Value value, const Version &version) {
    versionOf[value] = version;
  }
  /// Behind the last op.
  void finish();

  /// Seconds of latency that count of the fewest calls, and those of
  /// all-reduces.
  struct Latency {
    double ofAll = 0, ofSums = 0;
  };
  Latency countedLatency() const;

  /// The all-reduces, by ReshardPrices::Call::combinable, that `value` could
  /// have for `user` without one call more; its own now do not count.
  std::vector<int32_t> joinedBy(mlir::Value value, mlir::Operation *user,
                                bool isInLoop) const;

private:
  struct Step {
    llvm::SmallVector<int32_t, 2> operands;
    bool isCall = false, canFollow = false, follows = false;
    /// The last position that it can have.
    size_t latest = std::numeric_limits<size_t>::max();
  };
  struct Call {
    mlir::Value value;
    ReshardPrices::Call call;
    double runs;
    size_t earliest;
    int32_t step;
    /// Seconds.
    double countedLatency;
  };

  llvm::SmallDenseSet<int32_t> callsFollowedBy(int32_t step) const;

  std::vector<Step> steps;
  std::vector<Call> calls;
  llvm::DenseMap<mlir::Value, Version> versionOf;
  llvm::DenseMap<mlir::Operation *, int32_t> stepOf;
};

} // namespace weft

#endif // WEFT_LIB_PARTITION_PROGRAMCALLS_H
