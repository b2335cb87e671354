//===- ExpandAttention.cpp - Attention in other ops -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries are seen as [batch, queries, key heads, group, size], so that a batch
// of matmuls has keys of one head and the queries that read them;
// scores are [batch, key heads, queries, group, keys].
//
//===----------------------------------------------------------------------===//

#include "weft/IR/AttentionSizes.h"
#include "weft/IR/Origin.h"
#include "weft/IR/Passes.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace weft {
#define GEN_PASS_DEF_EXPANDATTENTION
#include "weft/IR/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

using Dims = SmallVector<int64_t>;

namespace {

/// What the two ops compute alike.
class Expander : public ImplicitLocOpBuilder {
public:
  template <typename Op>
  explicit Expander(Op op, OpBuilder::Listener *listener)
      : ImplicitLocOpBuilder(op.getLoc(), op, listener), scale(op.getScale()),
        isCausal(op.getCausal()), diagonal(op.getDiagonal()),
        s(AttentionSizes::of(op.getQuery().getType(), op.getKey().getType())),
        group(s.heads / s.keyHeads),
        sum(getAttentionSumType(op.getQuery().getType().getElementType())),
        scoreType(RankedTensorType::get(
            {s.batch, s.keyHeads, s.queries, group, s.keys}, sum)) {
    query = perKeyHead(op.getQuery());
    key = widened(op.getKey());
    value = widened(op.getValue());
  }

  SmallVector<Value> expand(AttentionOp op);
  SmallVector<Value> expand(AttentionGradOp op);

private:
  Value widened(Value x);
  Value converted(Value x, Type type);
  /// [batch, positions, heads, size] or [batch, positions, heads], heads by
  /// groups.
  Value perKeyHead(Value x);
  /// Numbers for each query and head in the order of scores, and back.
  Value rowsOfScores(Value x);
  Value fromScoreRows(Value x, Type type);
  /// Products of [batch, key heads, queries, group, size] and back.
  Value fromScoreHeads(Value x, Type type);

  /// Each of `x`, by queries, with each of `y`, by keys.
  Value pairwise(Value x, Value y);
  /// The sum over keys of scores times what keys have.
  Value overKeys(Value scores, Value y);
  /// The sum over queries of scores times what queries have.
  Value overQueries(Value scores, Value x, Type type);
  Value scores();
  Value rowSums(AttentionGradOp op);
  /// p = exp(score - base), for each query a base.
  Value exponentials(Value base);
  Value alongKeys(Value rows) {
    return BroadcastOp::create(*this, scoreType, rows, Dims{0, 1, 2, 3});
  }
  Value constant(RankedTensorType type, const APFloat &number) {
    return arith::ConstantOp::create(*this,
                                     DenseElementsAttr::get(type, number));
  }
  Value scaled(Value x);
  /// At least the least finite number: what a query sees no key for is no -inf,
  /// of which a difference is no number.
  Value finite(Value x);

  const APFloat scale;
  const bool isCausal;
  const Value diagonal;
  const AttentionSizes s;
  const int64_t group;
  const Type sum;
  RankedTensorType scoreType;
  Value query, key, value;
};

} // namespace

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Value Expander::widened(Value x) {
  RankedTensorType type = typeOf(x).clone(sum);
  return type == x.getType() ? x : arith::ExtFOp::create(*this, type, x);
}

Value Expander::converted(Value x, Type type) {
  return type == x.getType() ? x : arith::TruncFOp::create(*this, type, x);
}

Value Expander::perKeyHead(Value x) {
  SmallVector<int64_t> shape = {s.batch, s.queries, s.keyHeads, group};
  llvm::append_range(shape, typeOf(x).getShape().drop_front(3));
  x = widened(x);
  return ReshapeOp::create(*this, typeOf(x).clone(shape), x);
}

Value Expander::rowsOfScores(Value x) {
  return TransposeOp::create(*this, perKeyHead(x), Dims{0, 2, 1, 3});
}

Value Expander::fromScoreRows(Value x, Type type) {
  Value rows = TransposeOp::create(*this, x, Dims{0, 2, 1, 3});
  return ReshapeOp::create(*this, type, rows);
}

Value Expander::fromScoreHeads(Value x, Type type) {
  Value heads = TransposeOp::create(*this, x, Dims{0, 2, 1, 3, 4});
  heads =
      ReshapeOp::create(*this, cast<RankedTensorType>(type).clone(sum), heads);
  return converted(heads, type);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value Expander::pairwise(Value x, Value y) {
  return DotGeneralOp::create(*this, x, y, Dims{0, 2}, Dims{0, 2}, Dims{4},
                              Dims{3});
}

Value Expander::overKeys(Value scores, Value y) {
  return DotGeneralOp::create(*this, scores, y, Dims{0, 1}, Dims{0, 2}, Dims{4},
                              Dims{1});
}

Value Expander::overQueries(Value scores, Value x, Type type) {
  Value product = DotGeneralOp::create(*this, scores, x, Dims{0, 1}, Dims{0, 2},
                                       Dims{2, 3}, Dims{1, 3});
  return converted(TransposeOp::create(*this, product, Dims{0, 2, 1, 3}), type);
}

Value Expander::scaled(Value x) {
  APFloat number = scale;
  bool losesInfo;
  number.convert(cast<FloatType>(sum).getFloatSemantics(),
                 APFloat::rmNearestTiesToEven, &losesInfo);
  return arith::MulFOp::create(*this, x, constant(typeOf(x), number));
}

Value Expander::finite(Value x) {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(sum).getFloatSemantics();
  Value lowest =
      constant(typeOf(x), APFloat::getLargest(semantics, /*Negative=*/true));
  return arith::MaximumFOp::create(*this, x, lowest);
}

Value Expander::scores() {
  Value result = scaled(pairwise(query, key));
  if (!isCausal)
    return result;
  RankedTensorType positions = scoreType.clone(getI32Type());
  Value ofQuery = IotaOp::create(*this, positions, 2);
  Value ofKey = IotaOp::create(*this, positions, 4);
  if (diagonal)
    ofQuery = arith::AddIOp::create(
        *this, ofQuery,
        BroadcastOp::create(*this, positions, diagonal, Dims()));
  Value isSeen =
      arith::CmpIOp::create(*this, arith::CmpIPredicate::sle, ofKey, ofQuery);
  Value hidden = constant(
      scoreType, APFloat::getInf(cast<FloatType>(sum).getFloatSemantics(),
                                 /*Negative=*/true));
  return arith::SelectOp::create(*this, isSeen, result, hidden);
}

Value Expander::exponentials(Value base) {
  Value all = scores();
  Value difference = arith::SubFOp::create(*this, all, alongKeys(finite(base)));
  return math::ExpOp::create(*this, difference);
}

//===----------------------------------------------------------------------===//
// The two ops
//===----------------------------------------------------------------------===//

SmallVector<Value> Expander::expand(AttentionOp op) {
  Value largest = finite(
      ReduceOp::create(*this, sharding::Reduction::Max, scores(), Dims{4}));
  Value powers = exponentials(largest);
  Value total =
      ReduceOp::create(*this, sharding::Reduction::Sum, powers, Dims{4});
  Value logsumexp =
      arith::AddFOp::create(*this, largest, math::LogOp::create(*this, total));
  // A query that sees no key: 0 / tiny = 0.
  Value divisor = arith::MaximumFOp::create(
      *this, total,
      constant(typeOf(total), APFloat::getSmallestNormalized(
                                  cast<FloatType>(sum).getFloatSemantics())));
  Value weights = arith::DivFOp::create(*this, powers, alongKeys(divisor));
  return {fromScoreHeads(overKeys(weights, value), op.getOut().getType()),
          fromScoreRows(logsumexp, op.getLogsumexp().getType())};
}

/// The sum of `out` times its cotangent over a head, less the cotangent of
/// `logsumexp`: what the softmax takes from the cotangent of each weight.
Value Expander::rowSums(AttentionGradOp op) {
  Value products = arith::MulFOp::create(*this, widened(op.getOut()),
                                         widened(op.getOutCotangent()));
  Value sums =
      ReduceOp::create(*this, sharding::Reduction::Sum, products, Dims{3});
  if (Value ofLogsumexp = op.getLogsumexpCotangent())
    sums = arith::SubFOp::create(*this, sums, ofLogsumexp);
  return rowsOfScores(sums);
}

SmallVector<Value> Expander::expand(AttentionGradOp op) {
  Value g = perKeyHead(op.getOutCotangent());
  Value weights = exponentials(rowsOfScores(op.getLogsumexp()));
  Value cotangents = pairwise(g, value);
  cotangents = arith::SubFOp::create(*this, cotangents, alongKeys(rowSums(op)));
  cotangents = scaled(arith::MulFOp::create(*this, weights, cotangents));
  return {fromScoreHeads(overKeys(cotangents, key),
                         op.getQueryCotangent().getType()),
          overQueries(cotangents, query, op.getKeyCotangent().getType()),
          overQueries(weights, g, op.getValueCotangent().getType())};
}

namespace {
struct ExpandAttention : weft::impl::ExpandAttentionBase<ExpandAttention> {
  using ExpandAttentionBase::ExpandAttentionBase;

  void runOnInput() override {
    getOperation()->walk([&](Operation *op) {
      if (auto attention = dyn_cast<AttentionOp>(op))
        expand(attention);
      else if (auto grad = dyn_cast<AttentionGradOp>(op))
        expand(grad);
    });
  }

  template <typename Op> void expand(Op op) {
    if (op.getQuery().getType().getShape().back() <= headsUpTo)
      return;
    OriginListener listener(getOrigin(op));
    op->replaceAllUsesWith(Expander(op, &listener).expand(op));
    op->erase();
    ++expanded;
  }
};
} // namespace
