//===- LoopCaptures.cpp - Loops that carry all that they use --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopCaptures.h"

#include "weft/IR/Origin.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace weft;

/// Creates a loop with these inits in front of `loop`, and moves the body to
/// it.
static RepeatOp createWithInits(RepeatOp loop, ValueRange inits) {
  OpBuilder builder(loop);
  OperationState state(loop.getLoc(), RepeatOp::getOperationName(), inits,
                       inits.getTypes(), loop->getAttrs());
  state.addRegion()->takeBody(loop.getBody());
  return cast<RepeatOp>(builder.create(state));
}

static void carry(RepeatOp loop) {
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(loop.getBody(), captured);
  if (captured.empty())
    return;
  Block &block = loop.getBlock();
  SmallVector<Value> inits(loop.getInits()), yielded;
  for (Value value : captured) {
    Value own;
    Operation *op = value.getDefiningOp();
    if (op && op->hasTrait<OpTrait::ConstantLike>()) {
      own = OpBuilder::atBlockBegin(&block).clone(*op)->getResult(0);
    } else {
      own = block.addArgument(value.getType(), value.getLoc());
      inits.push_back(value);
      yielded.push_back(own);
    }
    replaceAllUsesInRegionWith(value, own, loop.getBody());
  }
  if (yielded.empty())
    return;
  Operation *yield = loop.getYield();
  yield->insertOperands(yield->getNumOperands(), yielded);
  RepeatOp carrying = createWithInits(loop, inits);
  loop->replaceAllUsesWith(
      carrying->getResults().take_front(loop->getNumResults()));
  loop->erase();
}

static void capture(RepeatOp loop) {
  Block &block = loop.getBlock();
  Operation *yield = loop.getYield();
  llvm::BitVector invariant(block.getNumArguments());
  SmallVector<Value> inits;
  for (auto [index, init] : llvm::enumerate(loop.getInits())) {
    if (yield->getOperand(index) != block.getArgument(index)) {
      inits.push_back(init);
      continue;
    }
    invariant.set(index);
    loop->getResult(index).replaceAllUsesWith(init);
  }
  if (invariant.none())
    return;
  for (unsigned index : invariant.set_bits())
    block.getArgument(index).replaceAllUsesWith(loop.getInits()[index]);
  yield->eraseOperands(invariant);
  block.eraseArguments(invariant);
  RepeatOp capturing = createWithInits(loop, inits);
  unsigned next = 0;
  for (OpResult result : loop->getResults())
    if (!invariant.test(result.getResultNumber()))
      result.replaceAllUsesWith(capturing->getResult(next++));
  loop->erase();
}

/// The stage of the ops within.
static void giveOrigin(RepeatOp loop) {
  for (Operation &op : loop.getBlock())
    if (OriginAttr origin = getOrigin(&op); stageOf(origin) >= 0)
      return setOrigin(loop, origin);
}

static SmallVector<RepeatOp> loopsOf(ModuleOp module) {
  SmallVector<RepeatOp> loops;
  for (auto function : module.getOps<func::FuncOp>())
    for (Block &block : function.getBody())
      llvm::append_range(loops, block.getOps<RepeatOp>());
  return loops;
}

void weft::carryCaptures(ModuleOp module) {
  for (RepeatOp loop : loopsOf(module)) {
    giveOrigin(loop);
    carry(loop);
  }
}

void weft::captureInvariants(ModuleOp module) {
  for (RepeatOp loop : loopsOf(module)) {
    setOrigin(loop, OriginAttr());
    capture(loop);
  }
}
