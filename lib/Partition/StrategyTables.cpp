//===- StrategyTables.cpp - Strategies that are shared --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StrategyTables.h"

using namespace mlir;
using namespace weft;

const std::vector<OpStrategy> &
StrategyTables::strategiesOf(const StrategyProblem &problem) {
  auto [entry, isNew] = known.try_emplace(problem.key());
  if (isNew)
    entry->second = listStrategies(problem, prices);
  return entry->second;
}

ArrayRef<ArrayRef<OpStrategy>> FunctionStrategies::listsOf(Operation *op) {
  auto [entry, isNew] = lists.try_emplace(op);
  if (isNew) {
    entry->second = {tables.strategiesOf(reach.problemOf(op))};
    for (const StrategyProblem &problem : reach.regroupingsOf(op))
      entry->second.push_back(tables.strategiesOf(problem));
  }
  return entry->second;
}
