//===- PrintOpInterfaces.cpp - What ops state, as remarks -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/DecompositionOpInterface.h"
#include "weft/IR/Passes.h"
#include "weft/IR/ShardingRuleOpInterface.h"
#include "weft/IR/VjpOpInterface.h"
#include "weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"

namespace weft {
#define GEN_PASS_DEF_PRINTOPINTERFACES
#include "weft/IR/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

static SmallVector<StringRef> interfacesOf(RegisteredOperationName op) {
  SmallVector<StringRef> interfaces;
  if (op.hasInterface<ShardingRuleOpInterface>())
    interfaces.push_back("sharding rule");
  if (op.hasInterface<DecompositionOpInterface>())
    interfaces.push_back("decomposition");
  // What cannot be in a graph is not reported.
  if (!interfaces.empty() && op.hasInterface<VjpOpInterface>())
    interfaces.push_back("derivative");
  return interfaces;
}

namespace {
struct PrintOpInterfaces
    : weft::impl::PrintOpInterfacesBase<PrintOpInterfaces> {
  void runOnOperation() override {
    auto ops = llvm::to_vector(getContext().getRegisteredOperations());
    llvm::sort(ops, [](RegisteredOperationName a, RegisteredOperationName b) {
      return a.getStringRef() < b.getStringRef();
    });
    for (RegisteredOperationName op : ops)
      if (auto interfaces = interfacesOf(op); !interfaces.empty())
        getOperation().emitRemark()
            << op.getStringRef() << ": " << llvm::join(interfaces, ", ");
    markAllAnalysesPreserved();
  }
};
} // namespace
