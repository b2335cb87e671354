//===- InlineCalls.cpp - Bodies in the place of calls ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions are visited callees first, so every body is copied when it is free
// of calls itself.
//
//===----------------------------------------------------------------------===//

#include "weft/IR/Passes.h"
#include "weft/IR/ValueSharding.h"

#include "mlir/IR/IRMapping.h"

namespace weft {
#define GEN_PASS_DEF_INLINECALLS
#include "weft/IR/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// A private function's shardings of arguments and results become constraints
/// in its body, where copies of the body keep them.
static void moveShardingsInside(func::FuncOp function) {
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  StringRef name = WeftDialect::kShardingAttrName;
  for (BlockArgument argument : function.getArguments()) {
    ShardingAttr sharding = getSharding(argument);
    if (!sharding)
      continue;
    function.removeArgAttr(argument.getArgNumber(), name);
    auto constraint =
        ConstraintOp::create(builder, argument.getLoc(), argument, sharding);
    argument.replaceAllUsesExcept(constraint, constraint);
  }
  Operation *ret = function.getBody().front().getTerminator();
  builder.setInsertionPoint(ret);
  for (OpOperand &result : ret->getOpOperands()) {
    unsigned index = result.getOperandNumber();
    ShardingAttr sharding = getResultSharding(function, index);
    if (!sharding)
      continue;
    function.removeResultAttr(index, builder.getStringAttr(name));
    result.set(
        ConstraintOp::create(builder, ret->getLoc(), result.get(), sharding));
  }
}

namespace {

class CallInliner {
public:
  /// Inlines what the function calls; whether all of it could be.
  bool visit(func::FuncOp function);

  int64_t numInlined = 0;

private:
  enum State { Unseen, Open, Done, Broken };

  LogicalResult inlineCall(func::CallOp call);

  llvm::DenseMap<Operation *, State> states;
  SymbolTableCollection symbols;
};

} // namespace

/// Replaces the call by a copy of the body.
static void copyBody(func::CallOp call, func::FuncOp callee) {
  OpBuilder builder(call);
  IRMapping mapping;
  mapping.map(callee.getArguments(), call.getOperands());
  Block &body = callee.getBody().front();
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    copy->setLoc(CallSiteLoc::get(op.getLoc(), call.getLoc()));
  }
  for (auto [result, value] :
       llvm::zip_equal(call.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookup(value));
  call.erase();
}

bool CallInliner::visit(func::FuncOp function) {
  if (State state = states.lookup(function); state == Done || state == Broken)
    return state == Done;
  states[function] = Open;
  SmallVector<func::CallOp> calls;
  function.walk([&](func::CallOp call) { calls.push_back(call); });
  bool legal = true;
  for (func::CallOp call : calls)
    legal &= succeeded(inlineCall(call));
  states[function] = legal ? Done : Broken;
  return legal;
}

LogicalResult CallInliner::inlineCall(func::CallOp call) {
  FlatSymbolRefAttr name = call.getCalleeAttr();
  auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(call, name);
  if (callee.isExternal())
    return call.emitError() << "cannot be inlined: " << name
                            << " is declared only; give it a body";
  if (!callee.isPrivate())
    return call.emitError()
           << "cannot be inlined: " << name
           << " is public and thus an entry of its own; make it private";
  if (!callee.getBody().hasOneBlock())
    return call.emitError() << "cannot be inlined: " << name
                            << " has control flow; a program is one block";
  if (states.lookup(callee) == Open)
    return call.emitError() << "cannot be inlined: " << name << " calls itself";
  // What is wrong with the callee was reported there.
  if (!visit(callee))
    return failure();
  copyBody(call, callee);
  ++numInlined;
  return success();
}

namespace {
struct InlineCalls : weft::impl::InlineCallsBase<InlineCalls> {
  void runOnInput() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPrivate() && function.getBody().hasOneBlock())
        moveShardingsInside(function);
    CallInliner inliner;
    bool legal = true;
    for (auto function : getOperation().getOps<func::FuncOp>())
      legal &= inliner.visit(function);
    numInlined += inliner.numInlined;
    if (!legal)
      signalPassFailure();
  }
};
} // namespace
