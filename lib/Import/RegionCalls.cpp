//===- RegionCalls.cpp - Inline calls in regions of unknown ops -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Import/Stablehlo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace weft;

/// The body of the function that is called; null if the call does not fit it,
/// which is for the verifier to say.
static Block *findBody(func::CallOp call, ModuleOp module) {
  FlatSymbolRefAttr callee = call.getCalleeAttr();
  auto function =
      callee ? module.lookupSymbol<func::FuncOp>(callee) : func::FuncOp();
  if (!function || !llvm::hasSingleElement(function.getBody()))
    return nullptr;
  Block &body = function.getBody().front();
  bool fits = !body.empty() && isa<func::ReturnOp>(body.back()) &&
              llvm::equal(body.getArgumentTypes(), call.getOperandTypes()) &&
              llvm::equal(body.back().getOperandTypes(), call.getResultTypes());
  return fits ? &body : nullptr;
}

static bool isTakenForTable(Operation *op) {
  return op && !op->isRegistered() && op->getNumRegions() == 1;
}

void weft::inlineRegionCalls(ModuleOp module) {
  // Functions that call themselves would be inlined forever.
  constexpr int most = 10'000;
  SmallVector<func::CallOp> calls;
  auto collect = [&](Operation *root) {
    root->walk([&](func::CallOp call) {
      for (Operation *op = call->getParentOp(); op; op = op->getParentOp())
        if (isTakenForTable(op)) {
          calls.push_back(call);
          return;
        }
    });
  };
  collect(module);
  for (int count = 0; !calls.empty() && count < most; ++count) {
    func::CallOp call = calls.pop_back_val();
    Block *body = findBody(call, module);
    if (!body)
      continue;
    OpBuilder builder(call);
    IRMapping values;
    values.map(body->getArguments(), call.getOperands());
    for (Operation &op : body->without_terminator())
      collect(builder.clone(op, values));
    for (auto [result, value] :
         llvm::zip_equal(call.getResults(), body->back().getOperands()))
      result.replaceAllUsesWith(values.lookupOrDefault(value));
    call.erase();
  }
}
