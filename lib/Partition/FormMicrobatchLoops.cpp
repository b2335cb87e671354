//===- FormMicrobatchLoops.cpp - Loops over micro-batches as ops ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/MicrobatchExits.h"
#include "weft/IR/Microbatches.h"
#include "weft/IR/Origin.h"
#include "weft/IR/SourceLocation.h"
#include "weft/IR/WeftOps.h"
#include "weft/Partition/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace weft {
#define GEN_PASS_DEF_FORMMICROBATCHLOOPS
#include "weft/Partition/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

namespace {

/// Makes a weft.repeat of one loop of a block.
class LoopFormer {
public:
  LoopFormer(Block &block, MicrobatchesAttr loop)
      : block(block), loop(loop), builder(loop.getContext()) {}

  void run();

private:
  void findOps();
  void moveInside();
  void copyInside(Operation *member);
  Value copyConstant(Value value);
  void replaceBorder(Operation *member);
  Value addOne();

  Block &block;
  MicrobatchesAttr loop;
  OpBuilder builder;
  /// What is computed for each micro-batch, and what sums or stacks it.
  SmallVector<Operation *> members, exits;
  bool needsIndex = false;
  RepeatOp repeat;
  /// The number of the micro-batch, if any op needs it.
  Value index;
  /// Copies of what depends on no value of the program, and of which ops.
  IRMapping constants;
  SmallVector<Operation *> copied;
};

} // namespace

void LoopFormer::findOps() {
  Microbatches microbatches(block);
  for (Operation &op : block) {
    if (microbatches.loopOf(&op) != loop)
      continue;
    (leavesMicrobatches(&op) ? exits : members).push_back(&op);
    needsIndex |= isa<MicrobatchSliceOp, MicrobatchStackOp>(op);
  }
}

/// A copy in the loop of what is made of counters and constants alone: a mask
/// is then computed where it is used, and not kept. Constants are not copied.
Value LoopFormer::copyConstant(Value value) {
  if (Value copy = constants.lookupOrNull(value))
    return copy;
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != &block || op->getNumResults() != 1 ||
      !isPure(op) || isa<RepeatOp, CommunicationOpInterface>(op))
    return {};
  if (op->hasTrait<OpTrait::ConstantLike>())
    return value;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(copyConstant(operand));
    if (!operands.back())
      return {};
  }
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  constants.map(value, copy->getResult(0));
  copied.push_back(op);
  return copy->getResult(0);
}

void LoopFormer::copyInside(Operation *member) {
  builder.setInsertionPoint(member);
  for (OpOperand &use : member->getOpOperands())
    if (Value copy = copyConstant(use.get()))
      use.set(copy);
}

void LoopFormer::replaceBorder(Operation *member) {
  builder.setInsertionPoint(member);
  Value value;
  if (auto slice = dyn_cast<MicrobatchSliceOp>(member)) {
    value = GatherOp::create(builder, slice.getLoc(), slice.getType(),
                             slice.getOperand(), index, slice.getDim(),
                             ArrayRef<int64_t>(), ArrayRef<int64_t>());
    setOrigin(value.getDefiningOp(), getOrigin(slice));
  } else if (auto use = dyn_cast<MicrobatchUseOp>(member)) {
    value = use.getOperand();
  } else {
    return;
  }
  member->replaceAllUsesWith(ValueRange(value));
  member->erase();
}

void LoopFormer::moveInside() {
  Block &inside = repeat.getBlock();
  for (Operation *member : members)
    member->moveBefore(&inside, inside.end());
  for (Operation *member : members) {
    copyInside(member);
    replaceBorder(member);
  }
  for (Operation *op : llvm::reverse(copied))
    if (op->use_empty())
      op->erase();
  builder.setInsertionPointToEnd(&inside);
}

Value LoopFormer::addOne() {
  Location loc = repeat.getLoc();
  Value one = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(cast<RankedTensorType>(index.getType()),
                             builder.getI32IntegerAttr(1).getValue()));
  return arith::AddIOp::create(builder, loc, index, one);
}

void LoopFormer::run() {
  findOps();
  Operation *last = exits.empty() ? members.back() : exits.back();
  if (!members.empty() && last->isBeforeInBlock(members.back()))
    last = members.back();
  builder.setInsertionPointAfter(last);
  SmallVector<Value> inits;
  for (Operation *exit : exits)
    inits.push_back(makeInit(builder, exit));
  auto indexType = RankedTensorType::get({}, builder.getI32Type());
  if (needsIndex)
    inits.push_back(arith::ConstantOp::create(builder, last->getLoc(),
                                              builder.getZeroAttr(indexType)));
  repeat =
      RepeatOp::create(builder, last->getLoc(), ValueRange(inits).getTypes(),
                       loop.getCount(), inits);
  repeat->setAttr(kLoopAttrName, loop);
  Block &inside = repeat.getBody().emplaceBlock();
  for (Value init : inits)
    inside.addArgument(init.getType(), init.getLoc());
  if (needsIndex)
    index = inside.getArguments().back();

  moveInside();
  SmallVector<Value> carried;
  for (auto [number, exit] : llvm::enumerate(exits))
    carried.push_back(addMicrobatch(builder, exit, inside.getArgument(number),
                                    exit->getOperand(0), index));
  if (needsIndex)
    carried.push_back(addOne());
  YieldOp::create(builder, repeat.getLoc(), carried);
  for (auto [number, exit] : llvm::enumerate(exits)) {
    exit->getResult(0).replaceAllUsesWith(repeat.getResult(number));
    exit->erase();
  }
  // What needs the results may stand before the loop, where the first of its
  // sums was.
  sortTopologically(&block);
}

namespace {

struct FormMicrobatchLoops
    : weft::impl::FormMicrobatchLoopsBase<FormMicrobatchLoops> {
  void runOnInput() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Block &block = function.getBody().front();
      Microbatches microbatches(block);
      for (MicrobatchesAttr loop : microbatches.getLoops()) {
        LoopFormer(block, loop).run();
        ++loops;
      }
    }
  }
};

} // namespace
