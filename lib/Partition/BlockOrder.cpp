//===- BlockOrder.cpp - A dimension in blocks of its parts ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockOrder.h"

#include "weft/IR/ObservedValues.h"
#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;

void weft::forgetNumber(Operation *op) { op->removeAttr(kNumberedAttrName); }

/// Whether the op leaves elements of its first operand where they are, and
/// takes no fewer bytes than its result.
static bool passesElements(Operation *op) {
  return isa<ConstraintOp, MicrobatchUseOp, BarrierOp, arith::ExtFOp>(op);
}

bool weft::isSplat(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  return constant && isa<SplatElementsAttr>(constant.getValue());
}

int64_t weft::keptDim(ReduceOp op, int64_t dim) {
  return dim - llvm::count_if(op.getDims(),
                              [&](int64_t reduced) { return reduced < dim; });
}

/// The dimension of a reshape's result that has all elements of one, and none
/// beside them.
static std::optional<int64_t> reshapedDim(ReshapeOp op, int64_t dim) {
  ArrayRef<int64_t> from = typeOf(op.getOperand()).getShape(),
                    to = op.getType().getShape();
  const int64_t before = ShapedType::getNumElements(from.take_front(dim));
  for (size_t other = 0; other < to.size(); ++other)
    if (to[other] == from[dim] &&
        ShapedType::getNumElements(to.take_front(other)) == before)
      return static_cast<int64_t>(other);
  return std::nullopt;
}

/// Where the dimension of an operand is in the result, if the op can be done to
/// a version of the operand that is restored afterwards, in no more bytes.
static std::optional<int64_t> passedDim(Operation *op, int64_t dim) {
  if (isa<ConstraintOp, MicrobatchSumOp, arith::TruncFOp, arith::AddFOp>(op))
    return dim;
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return llvm::find(transpose.getDims(), dim) - transpose.getDims().begin();
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return reshapedDim(reshape, dim);
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && !llvm::is_contained(reduce.getDims(), dim)
             ? std::optional(keptDim(reduce, dim))
             : std::nullopt;
}

BlockOrders::Key BlockOrders::keyOf(ValueDim value, const BlockOrder &order,
                                    Operation *user) {
  return {value.first.getAsOpaquePointer(), value.second, order,
          stageOf(getOrigin(user))};
}

bool BlockOrders::has(ValueDim value, const BlockOrder &order,
                      Operation *user) const {
  return versions.contains(keyOf(value, order, user));
}

Value BlockOrders::sourceOf(Value value) {
  Operation *op = value.getDefiningOp();
  return op && passesElements(op) ? sourceOf(op->getOperand(0)) : value;
}

/// The first in the block of the ops that use the value.
static Operation *firstUser(Value value) {
  return *llvm::min_element(value.getUsers(), [](Operation *a, Operation *b) {
    return a->isBeforeInBlock(b);
  });
}

Value BlockOrders::get(ValueDim cut, const BlockOrder &order, Operation *user) {
  auto [value, dim] = cut;
  Value &version = versions[keyOf(cut, order, user)];
  if (version)
    return version;
  Operation *op = value.getDefiningOp();
  if (op && passesElements(op)) {
    Value operand = get({op->getOperand(0), dim}, order, user);
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op);
    copy->setOperand(0, operand);
    forgetNumber(copy);
    return version = copy->getResult(0);
  }
  // Beside its users: arguments would have all at the beginning, last to first.
  OpBuilder builder(firstUser(value));
  auto moved = RearrangeOp::create(
      builder, user->getLoc(), typeOf(value), value, dim,
      ElementMapAttr::get(builder.getContext(), order.map()), TypedAttr());
  if (ShardingAttr sharding = getSharding(value))
    setSharding(moved.getResult(), sharding);
  setOrigin(moved, withoutGradient(getOrigin(user)));
  return version = moved.getResult();
}

//===----------------------------------------------------------------------===//
// Back to the order of the program
//===----------------------------------------------------------------------===//

/// The op that a value goes through alone, if it may, with the dimension of its
/// result.
static std::pair<Operation *, int64_t> onlySum(ValueDim cut) {
  auto [value, dim] = cut;
  Operation *user = value.hasOneUse() ? *value.user_begin() : nullptr;
  auto passed = user ? passedDim(user, dim) : std::nullopt;
  return passed ? std::pair(user, *passed) : std::pair(nullptr, dim);
}

ValueDim weft::sumOf(ValueDim cut) {
  for (auto [user, dim] = onlySum(cut); user;
       std::tie(user, dim) = onlySum(cut))
    cut = {user->getResult(0), dim};
  return cut;
}

/// What the value is the restored version of, if it is one in that order.
static RearrangeOp restoredAs(Value value, RearrangeOp like) {
  auto other = value.getDefiningOp<RearrangeOp>();
  return other && other.getDim() == like.getDim() &&
                 other.getMap() == like.getMap() && other->hasOneUse()
             ? other
             : RearrangeOp();
}

void BlockOrders::restore(Operation *op, int64_t dim, const BlockOrder &order) {
  OpBuilder builder(op->getContext());
  const auto map = ElementMapAttr::get(op->getContext(), order.map().inverse());
  // Made of the result, in place of it.
  auto restoreResult = [&](Operation *from) {
    Value result = from->getResult(0);
    builder.setInsertionPointAfter(from);
    auto restored = RearrangeOp::create(builder, from->getLoc(), typeOf(result),
                                        result, dim, map, TypedAttr());
    result.replaceAllUsesExcept(restored.getResult(), restored);
    restored->setDiscardableAttrs(from->getDiscardableAttrDictionary());
    forgetNumber(from);
    setOrigin(from, withoutGradient(getOrigin(from)));
    return restored;
  };
  RearrangeOp restored = restoreResult(op);
  while (true) {
    auto [user, passed] = onlySum({restored.getResult(), dim});
    if (!user)
      return;
    SmallVector<std::pair<OpOperand *, RearrangeOp>> sources;
    for (OpOperand &operand : user->getOpOperands()) {
      if (isSplat(operand.get()))
        continue;
      sources.push_back({&operand, restoredAs(operand.get(), restored)});
      if (!sources.back().second)
        return;
    }
    for (auto [use, source] : sources)
      use->set(source.getOperands().front());
    dim = passed;
    restored = restoreResult(user);
    for (auto &[use, source] : sources)
      source->erase();
  }
}

//===----------------------------------------------------------------------===//
// Blocks as a dimension
//===----------------------------------------------------------------------===//

Value BlockOrders::takeApart(OpBuilder &builder, Location loc, ValueDim cut,
                             int64_t blocks) const {
  auto [value, dim] = cut;
  SmallVector<int64_t> shape(typeOf(value).getShape());
  shape[dim] /= blocks;
  shape.insert(shape.begin() + dim, blocks);
  Value apart =
      ReshapeOp::create(builder, loc, typeOf(value).clone(shape), value);
  ShardingAttr attr = getSharding(value);
  if (!attr)
    return apart;
  FailureOr<sharding::Sharding> sharding = attr.toSharding(mesh);
  if (failed(sharding))
    return apart;
  sharding->dims.insert(sharding->dims.begin() + dim + 1,
                        sharding::DimSharding());
  if (blocks % sharding::numShards(sharding->dims[dim].axes) != 0)
    sharding->dims[dim].axes.clear();
  setSharding(apart, ShardingAttr::get(builder.getContext(), attr.getMesh(),
                                       mesh, *sharding));
  return apart;
}

Value BlockOrders::putTogether(OpBuilder &builder, Location loc,
                               ValueDim apart) {
  auto [value, dim] = apart;
  SmallVector<int64_t> shape(typeOf(value).getShape());
  shape[dim] *= shape[dim + 1];
  shape.erase(shape.begin() + dim + 1);
  return ReshapeOp::create(builder, loc, typeOf(value).clone(shape), value);
}
