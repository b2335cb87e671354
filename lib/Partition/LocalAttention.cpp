//===- LocalAttention.cpp - Attention over a split sequence ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention of which each device has a part of the queries.
//
// If the keys are split alike, they move around a ring: each device computes
// with the keys that it holds while it receives those of the next device, and
// puts the results over parts of the keys together by their logsumexp. In the
// derivative the cotangents of keys and values travel with them, and come home
// with one step more; every step reads the results over all keys. Nobody ever
// holds all keys.
//
// If each device has all keys, only the causal mask changes: the queries of a
// device begin at its part.
//
//===----------------------------------------------------------------------===//

#include "LocalForms.h"

#include "ReshardReasons.h"

#include "weft/IR/AttentionSizes.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueName.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace weft;

namespace {

/// Emits one op on parts as ops on parts of keys.
class Ring {
public:
  Ring(Operation *op, const sharding::AxisList &split, const LocalForm &form)
      : local(form.types), builder(op), loc(op->getLoc()),
        size(numShards(split)), part(typeOf(op->getOperand(0)).getDimSize(1)) {
    sum = getAttentionSumType(typeOf(op->getOperand(0)).getElementType());
    axes = form.context.axes(split);
    cause = builder.getStringAttr(
        "keys and values of " + nameOf(op) + " move around the ring of " +
        form.context.mesh.print(split) +
        ", over which queries and keys are split alike");
    addReason(op->getParentOfType<ModuleOp>(),
              reasonOfSplit(op, form.context.mesh, split, cause));
  }

  SmallVector<Value> emit(AttentionOp op);
  SmallVector<Value> emit(AttentionGradOp op);

private:
  /// The part that the next device of the ring holds.
  Value receive(Value held) {
    return PermuteOp::create(builder, loc, held.getType(), held, axes, axes,
                             cause, /*shift=*/1);
  }

  /// Computes with some keys: from the values so far, which are none with the
  /// first keys, to those with these.
  using Iteration = llvm::function_ref<SmallVector<Value>(
      Value key, Value value, Value diagonal, ArrayRef<Value> sums)>;

  /// Lets all keys come by. Those of the next iteration are on their way while
  /// an iteration computes. The iterations between the first and the last are a
  /// loop.
  template <typename Op> SmallVector<Value> iterate(Op op, Iteration compute);
  template <typename Op>
  SmallVector<Value> repeat(Op op, ArrayRef<Value> inits, Iteration compute);

  /// The diagonal of the own queries and the keys that the device holds after
  /// `step` steps, a number; null for attention that is not causal, where it is
  /// null and means 0.
  template <typename Op> Value diagonalAfter(Value step, Op op);
  Value number(int32_t value);
  /// In the type `wanted`, which may be narrower.
  Value rounded(Value value, RankedTensorType wanted);
  Value add(Value x, Value y) {
    return arith::AddFOp::create(builder, loc, x, y);
  }

  /// Results over different keys.
  struct Partial {
    Value out, logsumexp;
  };
  Partial merge(Partial x, Partial y, bool mayBeEmpty);
  Value weigh(Value out, Value weight);

  /// Types of the results.
  ArrayRef<RankedTensorType> local;
  OpBuilder builder;
  Location loc;
  /// Devices of a ring, and queries of one.
  int64_t size, part;
  Type sum;
  AxesAttr axes;
  StringAttr cause;
};

} // namespace

//===----------------------------------------------------------------------===//
// The mask
//===----------------------------------------------------------------------===//

Value Ring::number(int32_t value) {
  auto type = RankedTensorType::get({}, builder.getI32Type());
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, value));
}

/// After step i, the device at position p of n holds the keys of p + i, or of
/// p + i - n: they begin i parts later than its queries, or n - i earlier.
template <typename Op> Value Ring::diagonalAfter(Value step, Op op) {
  if (!op.getCausal() || !step)
    return op.getCausal() ? op.getDiagonal() : Value();
  Value position = PositionOp::create(
      builder, loc, RankedTensorType::get({}, builder.getI32Type()), axes);
  Value left = builder.createOrFold<arith::SubIOp>(loc, number(size), step);
  Value isBehind = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sge, position, left);
  Value earlier = builder.createOrFold<arith::MulIOp>(loc, left, number(part));
  Value later = builder.createOrFold<arith::MulIOp>(loc, step, number(-part));
  Value offset =
      arith::SelectOp::create(builder, loc, isBehind, earlier, later);
  Value diagonal = op.getDiagonal();
  return diagonal ? arith::AddIOp::create(builder, loc, offset, diagonal)
                  : offset;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value Ring::rounded(Value value, RankedTensorType wanted) {
  if (value.getType() == wanted)
    return value;
  return arith::TruncFOp::create(builder, loc, wanted, value);
}

/// Multiplies each row of `out` by its weight.
Value Ring::weigh(Value out, Value weight) {
  Value weights = BroadcastOp::create(builder, loc, out.getType(), weight,
                                      ArrayRef<int64_t>{0, 1, 2});
  return arith::MulFOp::create(builder, loc, out, weights);
}

/// A softmax over both sets of keys: each result counts by its part of the sum
/// of exponentials. `mayBeEmpty`: there may be no key in either.
Ring::Partial Ring::merge(Partial x, Partial y, bool mayBeEmpty) {
  RankedTensorType type = typeOf(x.logsumexp);
  auto constant = [&](const APFloat &value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, value));
  };
  const llvm::fltSemantics &semantics =
      cast<FloatType>(sum).getFloatSemantics();
  auto exp = [&](Value logsumexp, Value base) -> Value {
    Value difference = arith::SubFOp::create(builder, loc, logsumexp, base);
    return math::ExpOp::create(builder, loc, difference);
  };
  Value base =
      arith::MaximumFOp::create(builder, loc, x.logsumexp, y.logsumexp);
  // -inf - -inf is no number.
  if (mayBeEmpty)
    base = arith::MaximumFOp::create(
        builder, loc, base,
        constant(APFloat::getLargest(semantics, /*Negative=*/true)));
  Value ofX = exp(x.logsumexp, base), ofY = exp(y.logsumexp, base);
  Value total = add(ofX, ofY);
  Value logsumexp = add(base, math::LogOp::create(builder, loc, total));
  if (mayBeEmpty) // the weights of no keys are 0 then, not 0 / 0
    total = arith::MaximumFOp::create(
        builder, loc, total,
        constant(APFloat::getSmallestNormalized(semantics)));
  Value shareOfX = arith::DivFOp::create(builder, loc, ofX, total);
  Value shareOfY = arith::DivFOp::create(builder, loc, ofY, total);
  Value out = weigh(x.out, shareOfX);
  return {add(out, weigh(y.out, shareOfY)), logsumexp};
}

//===----------------------------------------------------------------------===//
// The ring
//===----------------------------------------------------------------------===//

/// How many of the first values of an iteration go around the ring: keys and
/// values, or what is both.
template <typename Op> static size_t countMoved(Op op) {
  return op.getKey() == op.getValue() ? 1 : 2;
}

/// Iterations 1 to n - 2 of n, from what iteration 0 and the first exchange
/// gave; what the last iteration computes with.
template <typename Op>
SmallVector<Value> Ring::repeat(Op op, ArrayRef<Value> inits,
                                Iteration compute) {
  SmallVector<Value> carried(inits);
  carried.push_back(number(1));
  auto loop = RepeatOp::create(builder, loc, ValueRange(carried).getTypes(),
                               size - 2, carried);
  Block &block = loop.getBody().emplaceBlock();
  for (Value init : carried)
    block.addArgument(init.getType(), loc);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&block);
  auto moved = block.getArguments().take_front(countMoved(op));
  Value step = block.getArguments().back();
  SmallVector<Value> sums(
      block.getArguments().drop_front(moved.size()).drop_back());
  SmallVector<Value> next;
  for (Value held : moved)
    next.push_back(receive(held));
  llvm::append_range(next, compute(moved.front(), moved.back(),
                                   diagonalAfter(step, op), sums));
  next.push_back(arith::AddIOp::create(builder, loc, step, number(1)));
  YieldOp::create(builder, loc, next);
  return SmallVector<Value>(loop.getResults().drop_back());
}

template <typename Op>
SmallVector<Value> Ring::iterate(Op op, Iteration compute) {
  SmallVector<Value> moved = {op.getKey(), op.getValue()};
  moved.truncate(countMoved(op));
  SmallVector<Value> sums =
      compute(moved.front(), moved.back(), diagonalAfter(Value(), op), {});
  for (Value &held : moved)
    held = receive(held);
  if (size > 2) {
    SmallVector<Value> inits = moved;
    llvm::append_range(inits, sums);
    SmallVector<Value> after = repeat(op, inits, compute);
    auto first = after.begin() + moved.size();
    moved.assign(after.begin(), first);
    sums.assign(first, after.end());
  }
  return compute(moved.front(), moved.back(),
                 diagonalAfter(number(size - 1), op), sums);
}

//===----------------------------------------------------------------------===//
// The two ops
//===----------------------------------------------------------------------===//

SmallVector<Value> Ring::emit(AttentionOp op) {
  RankedTensorType out = local[0], logsumexp = local[1];
  SmallVector<Value> merged = iterate(
      op,
      [&](Value key, Value value, Value diagonal,
          ArrayRef<Value> sums) -> SmallVector<Value> {
        auto block = AttentionOp::create(
            builder, loc, TypeRange{out.clone(sum), logsumexp}, op.getQuery(),
            key, value, diagonal, op.getCausal(), op.getScale());
        Partial partial{block.getOut(), block.getLogsumexp()};
        if (!sums.empty())
          partial = merge({sums[0], sums[1]}, partial,
                          /*mayBeEmpty=*/bool(op.getDiagonal()));
        return {partial.out, partial.logsumexp};
      });
  return {rounded(merged[0], out), merged[1]};
}

/// Each step forms the sums of `out` times its cotangent again: for each query
/// the work of a fifth of a key, where a step has thousands. To hand sums on
/// instead of `out` would take a second form of the op, which no library has,
/// and save one tensor of one layer.
SmallVector<Value> Ring::emit(AttentionGradOp op) {
  SmallVector<Type, 3> types;
  for (RankedTensorType type : local)
    types.push_back(type.clone(sum));
  SmallVector<Value> sums = iterate(
      op,
      [&](Value key, Value value, Value diagonal,
          ArrayRef<Value> sums) -> SmallVector<Value> {
        auto block = AttentionGradOp::create(
            builder, loc, types, op.getQuery(), key, value, op.getOut(),
            op.getLogsumexp(), op.getOutCotangent(), op.getLogsumexpCotangent(),
            diagonal, op.getCausal(), op.getScale());
        if (sums.empty())
          return SmallVector<Value>(block.getResults());
        return {add(sums[0], block.getQueryCotangent()),
                add(receive(sums[1]), block.getKeyCotangent()),
                add(receive(sums[2]), block.getValueCotangent())};
      });
  sums[1] = receive(sums[1]);
  sums[2] = receive(sums[2]);
  for (auto [total, type] : llvm::zip_equal(sums, local))
    total = rounded(total, type);
  return sums;
}

//===----------------------------------------------------------------------===//
// All keys everywhere
//===----------------------------------------------------------------------===//

/// Moves the diagonal to the own queries.
template <typename Op>
static void offsetDiagonal(Op op, const sharding::AxisList &axes,
                           const MeshContext &context) {
  if (!op.getCausal())
    return;
  OpBuilder builder(op);
  Value offset =
      createOffset(builder, op.getLoc(), builder.getI32Type(),
                   typeOf(op.getQuery()).getDimSize(1), axes, context);
  if (op.getDiagonal())
    offset =
        arith::AddIOp::create(builder, op.getLoc(), offset, op.getDiagonal());
  op.getDiagonalMutable().assign(offset);
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

namespace {

template <typename Op>
struct LocalAttention
    : LocalFormOpInterface::ExternalModel<LocalAttention<Op>, Op> {
  LocalResults localize(Operation *op, const LocalForm &form) const {
    sharding::AxisList axes = form.axesOfOperand(0, /*dim=*/1);
    bool areKeysSplit = !form.axesOfOperand(1, /*dim=*/1).empty();
    if (!axes.empty() && areKeysSplit) {
      SmallVector<Value> results = Ring(op, axes, form).emit(cast<Op>(op));
      op->replaceAllUsesWith(results);
      op->erase();
      return results;
    }
    if (!axes.empty())
      offsetDiagonal(cast<Op>(op), axes, form.context);
    return setTypes(op, form.types);
  }
};

} // namespace

void weft::attachLocalAttention(MLIRContext &context) {
  AttentionOp::attachInterface<LocalAttention<AttentionOp>>(context);
  AttentionGradOp::attachInterface<LocalAttention<AttentionGradOp>>(context);
}
