//===- DumpNetwork.cpp - A cost network as JSON ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DumpNetwork.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace weft;
using optimize::CostNetwork;

llvm::json::Object weft::dump(StringRef function,
                              const ShardingNetwork &network,
                              optimize::Cost start, optimize::Cost found) {
  const CostNetwork &problem = network.getNetwork();
  llvm::json::Array sizes, tables, factors;
  for (size_t i = 0; i < problem.numVariables(); ++i)
    sizes.push_back(static_cast<int64_t>(problem.numValues(i)));
  for (size_t i = 0; i < problem.getTables().size(); ++i)
    tables.push_back(llvm::json::Array(problem.getTables()[i]));
  for (const CostNetwork::Factor &factor : problem.getFactors())
    factors.push_back(llvm::json::Object{
        {"scope", llvm::json::Array(factor.scope)}, {"table", factor.table}});
  llvm::json::Array exclusions;
  for (const ShardingNetwork::Exclusion &exclusion : network.exclusions()) {
    llvm::json::Array ends;
    for (const auto &[variable, values] : exclusion)
      if (variable >= 0)
        ends.push_back(llvm::json::Object{
            {"variable", variable}, {"values", llvm::json::Array(values)}});
    exclusions.push_back(std::move(ends));
  }
  const CostNetwork::Solution &solution = network.getSolution();
  return llvm::json::Object{
      {"name", function},
      {"sizes", std::move(sizes)},
      {"tables", std::move(tables)},
      {"factors", std::move(factors)},
      {"exclusions", std::move(exclusions)},
      {"assignment", llvm::json::Array(solution.assignment)},
      {"isOptimal", solution.isOptimal},
      {"cost", solution.cost},
      {"fixedCost", network.getFixedCost()},
      {"startCarriedOut", start},
      {"foundCarriedOut", found}};
}

LogicalResult weft::writeDump(ModuleOp module, llvm::json::Array functions,
                              StringRef file) {
  std::error_code error;
  llvm::raw_fd_ostream stream(file, error);
  if (!error) {
    stream << llvm::json::Value(
        llvm::json::Object{{"functions", std::move(functions)}});
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (error)
    return module.emitError() << "cannot write the network of choices to \""
                              << file << "\": " << error.message();
  return success();
}
