//===- MicrobatchRules.cpp - Rules of loops over micro-batches ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/FormRules.h"
#include "weft/IR/MicrobatchExits.h"
#include "weft/IR/Microbatches.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace weft;

/// The ops of a loop are in one loop, and their values stay there.
static void checkOp(Operation &op, const Microbatches &microbatches,
                    FormCheck &check) {
  MicrobatchesAttr other = microbatches.loopOf(&op);
  if (!other) // it uses no value of a micro-batch
    return;
  MicrobatchesAttr own = getBorder(&op);
  bool isReturn = op.hasTrait<OpTrait::IsTerminator>();
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    MicrobatchesAttr loop = microbatches.loopOf(operand);
    if (!loop)
      continue;
    if (isReturn) {
      check.error(op.getLoc())
          << "result " << index << " is a value of each micro-batch of loop "
          << loop.getName()
          << "; take weft.microbatch_sum or weft.microbatch_stack of it";
    } else if (loop != other || (own && own != loop)) {
      check.error(op.getLoc())
          << op.getName() << " of loop " << (own ? own : other).getName()
          << " uses a value of each micro-batch of loop " << loop.getName()
          << " as operand " << index
          << "; take weft.microbatch_sum or weft.microbatch_stack of it";
      return;
    } else if (own && !leavesMicrobatches(&op)) {
      check.error(op.getLoc())
          << op.getName() << " needs a value that is there before the loop, "
          << "but operand " << index << " is one of each micro-batch of it";
    }
  }
}

/// No op of a loop needs what the loop gives.
static void checkOrder(Block &block, MicrobatchesAttr loop,
                       const Microbatches &microbatches, FormCheck &check) {
  llvm::DenseSet<Value> later;
  for (Operation &op : block.without_terminator()) {
    bool isInLoop = microbatches.loopOf(&op) == loop;
    bool needsResult = llvm::any_of(op.getOperands(), [&](Value operand) {
      return later.contains(operand);
    });
    if (isInLoop && needsResult)
      check.error(op.getLoc())
          << op.getName() << " of loop " << loop.getName()
          << " needs a sum or stack of the same loop, which is there only "
             "after the last micro-batch";
    if (needsResult || (isInLoop && leavesMicrobatches(&op)))
      for (Value result : op.getResults())
        later.insert(result);
  }
}

/// One name has one number of micro-batches.
static void checkCounts(Block &block, const Microbatches &microbatches,
                        FormCheck &check) {
  llvm::MapVector<StringAttr, MicrobatchesAttr> named;
  for (MicrobatchesAttr loop : microbatches.getLoops()) {
    MicrobatchesAttr first =
        named.try_emplace(loop.getName(), loop).first->second;
    if (first == loop)
      continue;
    for (Operation &op : block)
      if (getBorder(&op) == loop) {
        check.error(op.getLoc())
            << "loop " << loop.getName() << " has " << loop.getCount()
            << " micro-batches here and " << first.getCount() << " before";
        break;
      }
  }
}

void weft::checkMicrobatchLoops(ModuleOp module, FormCheck &check) {
  for (func::FuncOp function : findPrograms(module))
    function.walk([&](RepeatOp repeat) {
      auto loop = repeat->getAttrOfType<MicrobatchesAttr>(kLoopAttrName);
      if (!loop)
        return;
      if (int64_t(repeat.getCount()) != loop.getCount())
        check.error(repeat.getLoc())
            << "weft.repeat runs " << repeat.getCount() << " times, but loop "
            << loop.getName() << " is over " << loop.getCount()
            << " micro-batches";
      // The number of the micro-batch is carried last.
      Block &block = repeat.getBlock();
      for (auto slice : block.getOps<GatherOp>())
        if (block.getNumArguments() &&
            slice.getIndices() == block.getArguments().back() &&
            typeOf(slice.getOperand()).getDimSize(slice.getDim()) !=
                loop.getCount())
          check.error(slice.getLoc())
              << "a slice of dimension " << slice.getDim() << " of "
              << slice.getOperand().getType()
              << " for each micro-batch, of which there are "
              << loop.getCount();
    });
}

void weft::checkMicrobatches(ModuleOp module, FormCheck &check) {
  for (func::FuncOp function : findPrograms(module))
    for (Block &block : function.getBody()) {
      Microbatches microbatches(block);
      if (!microbatches.any())
        continue;
      checkCounts(block, microbatches, check);
      for (Operation &op : block)
        checkOp(op, microbatches, check);
      for (MicrobatchesAttr loop : microbatches.getLoops())
        checkOrder(block, loop, microbatches, check);
    }
}
