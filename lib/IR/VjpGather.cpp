//===- VjpGather.cpp - Derivatives of gather, scatter_add, pad ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// gather and scatter_add are transposes of each other but for indices outside
// of the table: gather clamps them, scatter_add drops what comes with them.
// The same holds for slice and pad.
//
//===----------------------------------------------------------------------===//

#include "AttachVjp.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;

using Dims = SmallVector<int64_t>;

//===----------------------------------------------------------------------===//
// Gather and scatter_add
//===----------------------------------------------------------------------===//

/// `number` in every element of a tensor with the type of `like`.
static Value indexConstant(VjpBuilder &b, int64_t number, Value like) {
  auto type = cast<RankedTensorType>(like.getType());
  auto element = IntegerAttr::get(type.getElementType(), number);
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, Attribute(element)));
}

void GatherOp::buildVjp(VjpBuilder &b) {
  RankedTensorType table = getOperand().getType();
  Value zero = indexConstant(b, 0, getIndices());
  Value last = indexConstant(b, table.getDimSize(getDim()) - 1, getIndices());
  Value clamped = arith::MaxSIOp::create(b, getIndices(), zero);
  clamped = arith::MinSIOp::create(b, clamped, last);
  b.addCotangent(0, ScatterAddOp::create(b, table, b.getCotangent(), clamped,
                                         getDim(), getOperandBatching(),
                                         getIndicesBatching()));
}

/// Updates that were dropped have no part in the sum.
void ScatterAddOp::buildVjp(VjpBuilder &b) {
  RankedTensorType updates = getUpdates().getType();
  Value taken =
      GatherOp::create(b, updates, b.getCotangent(), getIndices(), getDim(),
                       getOperandBatching(), getIndicesBatching());
  Value zero = indexConstant(b, 0, getIndices());
  Value size = indexConstant(b, getType().getDimSize(getDim()), getIndices());
  auto compare = [&](arith::CmpIPredicate predicate, Value bound) {
    return arith::CmpIOp::create(b, predicate, getIndices(), bound);
  };
  Value isNotBefore = compare(arith::CmpIPredicate::sge, zero);
  Value isNotBehind = compare(arith::CmpIPredicate::slt, size);
  Value isKept = arith::AndIOp::create(b, isNotBefore, isNotBehind);
  // The dimensions of the indices keep their order in the updates.
  Value isKeptUpdate =
      b.createOrFold<BroadcastOp>(updates.clone(b.getI1Type()), isKept,
                                  getGatherDims().getTakenDimsOfIndices());
  b.addCotangent(0, b.keepWhere(isKeptUpdate, taken));
}

//===----------------------------------------------------------------------===//
// Slice and pad
//===----------------------------------------------------------------------===//

/// Puts g back to where its elements were taken from.
void SliceOp::buildVjp(VjpBuilder &b) {
  RankedTensorType operand = getOperand().getType();
  Dims low(getStarts()), high, interior;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    int64_t stride = getStrides()[dim];
    int64_t last = low[dim] + (getType().getDimSize(dim) - 1) * stride;
    high.push_back(operand.getDimSize(dim) - 1 - last);
    interior.push_back(stride - 1);
  }
  auto zero = FloatAttr::get(operand.getElementType(), 0);
  b.addCotangent(0,
                 PadOp::create(b, b.getCotangent(), low, high, interior, zero));
}

/// Takes the operand's elements out of g.
void PadOp::buildVjp(VjpBuilder &b) {
  RankedTensorType operand = getOperand().getType();
  Dims starts(getLow()), limits, strides;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    strides.push_back(getInterior()[dim] + 1);
    limits.push_back(starts[dim] +
                     (operand.getDimSize(dim) - 1) * strides[dim] + 1);
  }
  b.addCotangent(0,
                 SliceOp::create(b, b.getCotangent(), starts, limits, strides));
}

/// The runs that take elements of a run that came from [begin, end) back there.
static std::vector<sharding::ElementRun>
inverseOf(const sharding::ElementRun &run, int64_t begin, int64_t end) {
  std::vector<sharding::ElementRun> inverse;
  for (int64_t i = 0, from = run.from; i < run.length; ++i, from += run.step) {
    if (from < begin || from >= end)
      continue;
    bool isNext = !inverse.empty() && std::abs(run.step) == 1;
    if (isNext && run.step == 1)
      ++inverse.back().length;
    else if (isNext)
      inverse.back() = {run.to + i, from - begin, inverse.back().length + 1,
                        -1};
    else
      inverse.push_back({run.to + i, from - begin, 1, run.step == -1 ? -1 : 1});
  }
  return inverse;
}

/// Puts g back to where its elements were taken from. Runs may take an element
/// several times.
static void rearrangeVjp(RearrangeOp op, VjpBuilder &b) {
  const sharding::ElementMap map = op.getMap().toMap();
  int64_t begin = 0;
  for (auto [number, operand] : llvm::enumerate(op.getOperands())) {
    auto type = cast<RankedTensorType>(operand.getType());
    int64_t size = map.from[number];
    for (const sharding::ElementRun &run : map.runs) {
      auto inverse = inverseOf(run, begin, begin + size);
      if (inverse.empty() || !b.wants(number))
        continue;
      auto attr = ElementMapAttr::get(
          op.getContext(), sharding::ElementMap{map.to, {size}, inverse});
      auto zero = inverse.size() == 1 && inverse.front().length == size
                      ? TypedAttr()
                      : FloatAttr::get(type.getElementType(), 0);
      b.addCotangent(number, RearrangeOp::create(b, type, b.getCotangent(),
                                                 op.getDim(), attr, zero));
    }
    begin += size;
  }
}

void weft::attachRearrangeVjp(MLIRContext *context) {
  attachVjp<RearrangeOp, rearrangeVjp>(context);
}
