//===- JoinSlices.cpp - Slices put together are one move ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A roll along a dimension is two slices and a concatenation. Each of the three
// moves elements between the devices that split the dimension, and the slices
// have sizes that axes do not divide; the whole moves what must move, and keeps
// the size.
//
//===----------------------------------------------------------------------===//

#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Partition/Passes.h"

#include "mlir/IR/Matchers.h"

#include "llvm/ADT/SetVector.h"

namespace weft {
#define GEN_PASS_DEF_JOINSLICES
#include "weft/Partition/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;
using sharding::ElementMap;
using sharding::ElementRun;

static bool isSplit(Value value, int64_t dim) {
  ShardingAttr sharding = getSharding(value);
  return sharding && !sharding.getDims()[dim].getAxes().empty();
}

/// The slice that a value is, if it is one along `dim` alone.
static SliceOp findSlice(Value value, int64_t dim) {
  auto slice = value.getDefiningOp<SliceOp>();
  if (!slice)
    return {};
  for (auto [other, size] : llvm::enumerate(typeOf(value).getShape()))
    if (int64_t(other) != dim &&
        size != typeOf(slice.getOperand()).getDimSize(other))
      return {};
  return slice;
}

/// Zeros of which nothing need be moved.
static bool isZero(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getOperand();
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

namespace {
/// What a concatenation takes from where, slices seen through.
struct Sources {
  SetVector<Value> values;
  ElementMap map;
  bool hasSlices = false, hasZeros = false;

  Sources(ConcatOp op, int64_t dim);
  void append(ElementRun run);
};
} // namespace

/// Adds a run, or makes the last one longer.
void Sources::append(ElementRun run) {
  if (!map.runs.empty()) {
    ElementRun &last = map.runs.back();
    if (last.step == run.step && last.to + last.length == run.to &&
        last.from + last.length * last.step == run.from) {
      last.length += run.length;
      return;
    }
  }
  map.runs.push_back(run);
}

Sources::Sources(ConcatOp op, int64_t dim) {
  DenseMap<Value, int64_t> starts;
  int64_t end = 0, to = 0;
  for (Value operand : op.getOperands()) {
    int64_t size = typeOf(operand).getDimSize(dim);
    if (isZero(operand)) {
      hasZeros = true;
      to += size;
      continue;
    }
    SliceOp slice = findSlice(operand, dim);
    Value source = slice ? slice.getOperand() : operand;
    hasSlices |= bool(slice);
    if (values.insert(source)) {
      starts[source] = end;
      map.from.push_back(typeOf(source).getDimSize(dim));
      end += map.from.back();
    }
    append({starts[source] + (slice ? slice.getStarts()[dim] : 0), to, size,
            slice ? slice.getStrides()[dim] : 1});
    to += size;
  }
  map.to = {to};
}

namespace {
struct JoinSlices : weft::impl::JoinSlicesBase<JoinSlices> {
  void runOnInput() override {
    getOperation().walk([&](ConcatOp op) { join(op); });
  }

  void join(ConcatOp op);
};
} // namespace

void JoinSlices::join(ConcatOp op) {
  int64_t dim = op.getDim();
  Sources sources(op, dim);
  if (!sources.hasSlices ||
      !(isSplit(op, dim) || llvm::any_of(sources.values, [&](Value value) {
          return isSplit(value, dim);
        })))
    return;
  OpBuilder builder(op);
  TypedAttr zero;
  if (sources.hasZeros)
    zero = builder.getZeroAttr(op.getType().getElementType());
  auto joined = RearrangeOp::create(
      builder, op.getLoc(), op.getType(), sources.values.getArrayRef(), dim,
      ElementMapAttr::get(&getContext(), sources.map), zero);
  joined->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  // A slice may be several operands.
  SetVector<Value> operands(op.operand_begin(), op.operand_end());
  op.replaceAllUsesWith(joined.getResult());
  op.erase();
  for (Value operand : operands)
    if (Operation *slice = operand.getDefiningOp();
        slice && isOpTriviallyDead(slice))
      slice->erase();
}
