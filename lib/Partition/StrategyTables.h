//===- StrategyTables.h - Strategies that are shared ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Equal ops have the same strategies, in one network and in those that are made
// again of a function, which then need not ask for them.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_STRATEGYTABLES_H
#define WEFT_LIB_PARTITION_STRATEGYTABLES_H

#include "AxisReach.h"

#include <map>

namespace weft {

/// Strategies of ops, by all that they depend on: equal ops share them.
class StrategyTables {
public:
  explicit StrategyTables(ReshardPrices &prices) : prices(prices) {}

  ReshardPrices &getPrices() { return prices; }
  const std::vector<OpStrategy> &strategiesOf(const StrategyProblem &problem);

private:
  ReshardPrices &prices;
  std::map<std::vector<int64_t>, std::vector<OpStrategy>> known;
};

/// The strategies of the ops of a function, of which several networks are made.
class FunctionStrategies {
public:
  FunctionStrategies(mlir::func::FuncOp function, StrategyTables &tables)
      : tables(tables), reach(function, tables.getPrices()) {}

  ReshardPrices &getPrices() { return tables.getPrices(); }
  const AxisReach &getReach() const { return reach; }
  /// A list of the op's own strategies, then those in which elements are
  /// exchanged.
  llvm::ArrayRef<llvm::ArrayRef<OpStrategy>> listsOf(mlir::Operation *op);

private:
  StrategyTables &tables;
  AxisReach reach;
  llvm::DenseMap<mlir::Operation *,
                 llvm::SmallVector<llvm::ArrayRef<OpStrategy>, 1>>
      lists;
};

} // namespace weft

#endif // WEFT_LIB_PARTITION_STRATEGYTABLES_H
