//===- PrintShardingRules.cpp - Rules as remarks --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/Passes.h"
#include "weft/IR/ShardingRuleOpInterface.h"

namespace weft {
#define GEN_PASS_DEF_PRINTSHARDINGRULES
#include "weft/IR/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;
using sharding::Linearity;

static StringRef nameOf(Linearity linearity) {
  switch (linearity) {
  case Linearity::NotLinear:
    return "not linear";
  case Linearity::Linear:
    return "linear";
  case Linearity::LinearInOne:
    return "linear in one";
  case Linearity::LinearInFirst:
    return "linear in first";
  }
  llvm_unreachable("all linearities are covered");
}

namespace {
struct PrintShardingRules
    : weft::impl::PrintShardingRulesBase<PrintShardingRules> {
  void runOnOperation() override {
    getOperation()->walk([](ShardingRuleOpInterface op) {
      op->emitRemark() << sharding::print(op.getShardingRule()) << ", "
                       << nameOf(op.getLinearity());
    });
    markAllAnalysesPreserved();
  }
};
} // namespace
