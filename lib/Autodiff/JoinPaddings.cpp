//===- JoinPaddings.cpp - Paddings that are added up ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Autodiff/Passes.h"
#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

namespace weft {
#define GEN_PASS_DEF_JOINPADDINGS
#include "weft/Autodiff/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// The one dimension along which the op puts zeros before and behind a tensor;
/// nothing if it does anything else, or somebody else uses the result.
static std::optional<int64_t> dimOfPadding(PadOp pad) {
  if (!pad || !pad->hasOneUse() ||
      !(matchPattern(pad.getValue(), m_AnyZeroFloat()) ||
        matchPattern(pad.getValue(), m_Zero())))
    return std::nullopt;
  std::optional<int64_t> found;
  for (auto [dim, low, high, interior] :
       llvm::enumerate(pad.getLow(), pad.getHigh(), pad.getInterior())) {
    if (interior != 0)
      return std::nullopt;
    if (low == 0 && high == 0)
      continue;
    if (found)
      return std::nullopt;
    found = dim;
  }
  return found;
}

/// Whether the op is a term of a sum that its only user computes.
static bool isTerm(Operation *op) {
  return op->hasOneUse() && op->user_begin()->getName() == op->getName();
}

/// The addends of nested sums, first to last.
static SmallVector<Value> termsOf(Operation *sum) {
  SmallVector<Value> terms, open = {sum->getOperand(1), sum->getOperand(0)};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (op && op->getName() == sum->getName() && isTerm(op))
      open.append({op->getOperand(1), op->getOperand(0)});
    else
      terms.push_back(value);
  }
  return terms;
}

/// The paddings of one dimension, each behind the one before; those that
/// overlap with one before are left out.
static SmallVector<PadOp> pickApart(ArrayRef<PadOp> paddings, int64_t dim) {
  SmallVector<PadOp> sorted(paddings), apart;
  llvm::stable_sort(sorted, [&](PadOp a, PadOp b) {
    return a.getLow()[dim] < b.getLow()[dim];
  });
  int64_t end = 0;
  for (PadOp pad : sorted) {
    if (pad.getLow()[dim] < end)
      continue;
    end = pad.getLow()[dim] + pad.getOperand().getType().getDimSize(dim);
    apart.push_back(pad);
  }
  return apart;
}

/// The sum of paddings that lie apart: a concatenation, padded at its ends.
static Value join(OpBuilder &builder, ArrayRef<PadOp> paddings, int64_t dim) {
  PadOp first = paddings.front(), last = paddings.back();
  Location loc = last.getLoc();
  SmallVector<Value> pieces;
  int64_t end = first.getLow()[dim];
  for (PadOp pad : paddings) {
    RankedTensorType type = pad.getOperand().getType();
    if (int64_t gap = pad.getLow()[dim] - end; gap != 0) {
      SmallVector<int64_t> shape(type.getShape());
      shape[dim] = gap;
      pieces.push_back(arith::ConstantOp::create(
          builder, loc, builder.getZeroAttr(type.clone(shape))));
    }
    pieces.push_back(pad.getOperand());
    end = pad.getLow()[dim] + type.getDimSize(dim);
  }
  Value joined = ConcatOp::create(builder, loc, pieces, dim);
  SmallVector<int64_t> low(first.getLow()), high(last.getHigh());
  if (low[dim] == 0 && high[dim] == 0)
    return joined;
  return PadOp::create(builder, loc, joined, low, high, first.getInterior(),
                       first.getValue());
}

/// Joins paddings among the addends of a sum, and returns how many.
static int64_t joinTerms(Operation *sum) {
  SmallVector<Value> terms = termsOf(sum);
  llvm::MapVector<int64_t, SmallVector<PadOp>> byDim;
  for (Value term : terms) {
    auto pad = term.getDefiningOp<PadOp>();
    if (std::optional<int64_t> dim = dimOfPadding(pad))
      byDim[*dim].push_back(pad);
  }
  OriginListener listener(getOrigin(sum));
  OpBuilder builder(sum, &listener);
  int64_t joined = 0;
  for (auto &[dim, paddings] : byDim) {
    SmallVector<PadOp> apart = pickApart(paddings, dim);
    if (apart.size() < 2)
      continue;
    joined += apart.size();
    llvm::erase_if(terms, [&](Value term) {
      return llvm::is_contained(apart, term.getDefiningOp<PadOp>());
    });
    terms.push_back(join(builder, apart, dim));
  }
  if (joined == 0)
    return 0;
  Value result = terms.front();
  for (Value term : ArrayRef(terms).drop_front()) {
    Operation *add = builder.clone(*sum);
    add->setOperands({result, term});
    result = add->getResult(0);
  }
  sum->getResult(0).replaceAllUsesWith(result);
  return joined;
}

namespace {
struct JoinPaddings : weft::impl::JoinPaddingsBase<JoinPaddings> {
  void runOnInput() override {
    SmallVector<Operation *> sums;
    getOperation().walk([&](Operation *op) {
      if (isa<arith::AddFOp, arith::AddIOp>(op) && !isTerm(op) &&
          isa<RankedTensorType>(op->getResult(0).getType()))
        sums.push_back(op);
    });
    for (Operation *sum : sums)
      if (int64_t joined = joinTerms(sum)) {
        numJoined += joined;
        eraseWithTerms(sum);
      }
  }

  /// What nobody uses any more.
  static void eraseWithTerms(Operation *sum) {
    SmallVector<Operation *> open = {sum};
    while (!open.empty()) {
      Operation *op = open.pop_back_val();
      SmallVector<Value> operands(op->getOperands());
      op->erase();
      for (Value operand : operands)
        if (Operation *made = operand.getDefiningOp();
            made && made->use_empty() &&
            isa<arith::AddFOp, arith::AddIOp, PadOp>(made) &&
            !llvm::is_contained(open, made))
          open.push_back(made);
    }
  }
};
} // namespace
