//===- AxisReach.h - Which axes may split what ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dimensions that ops walk together are one; an axis may split those of which
// a value is split by it anywhere: by an annotation or by propagation.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_AXISREACH_H
#define WEFT_LIB_PARTITION_AXISREACH_H

#include "OpStrategies.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/IntEqClasses.h"

#include <deque>
#include <map>

namespace weft {

class AxisReach {
public:
  /// Reads the rules and shardings of a function.
  AxisReach(mlir::func::FuncOp function, ReshardPrices &prices);

  /// The lists of axes that may split each factor of the op; those that a
  /// tensor of the op has come first. And the axes of which operands may be
  /// partial sums: those over which what they come from may be.
  StrategyProblem problemOf(mlir::Operation *op) const;
  /// Of a reshape, those in which elements are exchanged.
  std::vector<StrategyProblem> regroupingsOf(mlir::Operation *op) const;

  /// Null if the op has none.
  const sharding::ShardingRule *findRule(mlir::Operation *op) const {
    auto found = ops.find(op);
    return found == ops.end() ? nullptr : &rules[found->second].rule;
  }
  const sharding::ShardingRule &ruleOf(mlir::Operation *op) const {
    return *findRule(op);
  }

private:
  using Node = unsigned;

  struct OpRule {
    sharding::ShardingRule rule;
    /// The node of its first factor.
    Node first;
  };
  /// The factors of a value's dimensions, from a node on.
  struct Dims {
    const sharding::TensorFactors *factors;
    Node first;
  };

  Node addNode(int64_t size);
  Node nodeOf(mlir::Operation *op, int32_t factor) const {
    return rules[ops.at(op)].first + factor;
  }
  uint64_t reachOf(Node node) const { return reach[classes[node]]; }
  void addOp(mlir::Operation *op);
  void connect(const Dims &a, const Dims &b);
  void mark(mlir::Value value, ReshardPrices::Id sharding);
  void findTerms(mlir::Operation *op);
  void addMoves(mlir::Operation *op, StrategyProblem &problem) const;
  llvm::SmallVector<sharding::AxisList, 3>
  axesOfMove(mlir::Operation *op, const sharding::ShardingRule &rule,
             const ElementMove &move) const;
  uint64_t reachOf(mlir::Value value, int64_t dim) const;
  llvm::SmallVector<sharding::AxisList, 3>
  axesOfMove(mlir::Operation *op, const ElementMove &move, uint64_t both) const;
  struct SharedMove {
    ElementMove move;
    int64_t sharers = 1;
  };
  const SharedMove &shareMove(mlir::Value value, int64_t dim,
                              int64_t parts) const;
  sharding::AxisList axesOf(uint64_t bits) const;

  ReshardPrices &prices;
  llvm::SmallVector<int64_t> sizeOf;
  llvm::IntEqClasses classes;
  std::vector<std::pair<Node, Node>> links;
  std::vector<std::pair<Node, uint64_t>> marks;
  /// Axes of a class, one bit each.
  std::vector<uint64_t> reach;
  llvm::DenseMap<mlir::Value, Dims> dimsOf;
  llvm::DenseMap<mlir::Operation *, size_t> ops;
  /// They stay where they are: values refer to them.
  std::deque<OpRule> rules;
  /// Of arguments: each dimension is a factor. By rank.
  std::map<size_t, sharding::TensorFactors> dimsOfRank;
  /// Axes over which a value may be partial sums.
  llvm::DenseMap<mlir::Value, uint64_t> terms;
  /// By value, dimension and number of parts.
  mutable std::map<std::tuple<const void *, int64_t, int64_t>, SharedMove>
      sharedMoves;
};

} // namespace weft

#endif // WEFT_LIB_PARTITION_AXISREACH_H
