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

/// Whether the op can be done to a version of its operand that is restored
/// afterwards, in no more bytes.
static bool passesSums(Operation *op) {
  return isa<ConstraintOp, MicrobatchSumOp, arith::TruncFOp>(op);
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

/// The op that a value goes through alone, if it may.
static Operation *onlySum(Value value) {
  Operation *user = value.hasOneUse() ? *value.user_begin() : nullptr;
  return user && (passesSums(user) || isa<arith::AddFOp>(user)) ? user
                                                                : nullptr;
}

Value weft::sumOf(Value value) {
  while (Operation *user = onlySum(value))
    value = user->getResult(0);
  return value;
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
  builder.setInsertionPointAfter(op);
  auto restored =
      RearrangeOp::create(builder, op->getLoc(), typeOf(op->getResult(0)),
                          op->getResult(0), dim, map, TypedAttr());
  op->getResult(0).replaceAllUsesExcept(restored.getResult(), restored);
  auto takeAttrs = [](Operation *from, RearrangeOp to) {
    to->setDiscardableAttrs(from->getDiscardableAttrDictionary());
    forgetNumber(from);
    setOrigin(from, withoutGradient(getOrigin(from)));
  };
  takeAttrs(op, restored);
  while (Operation *user = onlySum(restored.getResult())) {
    SmallVector<RearrangeOp> sources;
    for (Value operand : user->getOperands())
      if (RearrangeOp source = restoredAs(operand, restored))
        sources.push_back(source);
    if (sources.size() != user->getNumOperands())
      break;
    for (auto [use, source] : llvm::zip_equal(user->getOpOperands(), sources))
      use.set(source.getOperands().front());
    builder.setInsertionPointAfter(user);
    restored =
        RearrangeOp::create(builder, user->getLoc(), typeOf(user->getResult(0)),
                            user->getResult(0), dim, map, TypedAttr());
    user->getResult(0).replaceAllUsesExcept(restored.getResult(), restored);
    takeAttrs(user, restored);
    for (RearrangeOp source : sources)
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
