//===- BlockTimes.cpp - When ops of a block are computed ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockTimes.h"

#include "weft/IR/ClusterCost.h"
#include "weft/IR/InstructionOpInterface.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;

static double secondsOf(Operation *op, const cost::CostModel &model) {
  if (isa<CommunicationOpInterface>(op) || isView(op) ||
      op->hasTrait<OpTrait::ConstantLike>())
    return 0;
  if (auto loop = dyn_cast<RepeatOp>(op)) {
    double seconds = 0;
    for (Operation &inner : loop.getBlock().without_terminator())
      seconds += secondsOf(&inner, model);
    return double(loop.getCount()) * seconds;
  }
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](ProductOpInterface product) {
        return model.gemm(product.getGemm());
      })
      .Case<AttentionOp, AttentionGradOp>(
          [&](auto attention) { return model.attention(costOf(attention)); })
      .Default([&](Operation *) {
        int64_t bytes = 0;
        for (Value result : op->getResults())
          bytes += bytesOf(result);
        return double(bytes) * model.secondsPerByte();
      });
}

BlockTimes::BlockTimes(Block &block, const cost::CostModel &model)
    : model(model) {
  double now = 0;
  for (Operation &op : block) {
    begins.push_back(now);
    now += secondsOf(&op, model);
  }
  begins.push_back(now);
}

double BlockTimes::ready(Value value, size_t number) const {
  double end = begins[number + 1];
  auto loop = value.getDefiningOp<RepeatOp>();
  if (!loop)
    return end;
  unsigned index = cast<OpResult>(value).getResultNumber();
  Operation *last = loop.getYield()->getOperand(index).getDefiningOp();
  if (!last || last->getBlock() != &loop.getBlock())
    return end;
  for (Operation *op = last->getNextNode(); op; op = op->getNextNode())
    end -= secondsOf(op, model);
  return end;
}
