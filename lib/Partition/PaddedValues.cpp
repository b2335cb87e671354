//===- PaddedValues.cpp - Values with elements behind the last one --------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PaddedValues.h"

#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace weft;
using llvm::SmallBitVector;

//===----------------------------------------------------------------------===//
// What is known
//===----------------------------------------------------------------------===//

RankedTensorType PaddedValues::trueType(Value value) const {
  auto type = trueTypes.find(value);
  return type == trueTypes.end() ? typeOf(value) : type->second;
}

void PaddedValues::pad(Value value, ArrayRef<int64_t> shape) {
  trueTypes.try_emplace(value, typeOf(value));
  value.setType(typeOf(value).clone(shape));
}

bool PaddedValues::isZero(Value value, int64_t dim) const {
  if (matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero()))
    return true;
  auto dims = zeroDims.find(value);
  return dims != zeroDims.end() && dims->second.test(dim);
}

void PaddedValues::setZero(Value value, SmallBitVector dims) {
  zeroDims[value] = std::move(dims);
}

ShardingAttr PaddedValues::withoutAxes(ShardingAttr attr, RankedTensorType type,
                                       ArrayRef<int64_t> shape) const {
  FailureOr<sharding::Sharding> sharding = attr.toSharding(mesh);
  if (failed(sharding))
    return attr;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size != type.getDimSize(dim)) {
      sharding->dims[dim].axes.clear();
      sharding->dims[dim].priority.reset();
    }
  return ShardingAttr::get(attr.getContext(), attr.getMesh(), mesh, *sharding);
}

//===----------------------------------------------------------------------===//
// Other shapes
//===----------------------------------------------------------------------===//

/// Takes the elements of dimensions that are larger than in `shape`.
Value PaddedValues::cut(OpBuilder &builder, Value value,
                        ArrayRef<int64_t> shape) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> starts(shape.size(), 0), strides(shape.size(), 1),
      limits;
  for (auto [size, held] : llvm::zip_equal(shape, type.getShape()))
    limits.push_back(std::min(size, held));
  if (ArrayRef(limits) == type.getShape())
    return value;
  Value result =
      SliceOp::create(builder, value.getLoc(), value, starts, limits, strides);
  setOrigin(result.getDefiningOp(), getValueOrigin(value));
  if (ShardingAttr sharding = getSharding(value))
    setSharding(result, withoutAxes(sharding, type, limits));
  return result;
}

/// The value computed with more elements, if that is all there is to it. Null
/// if it is not.
static Value makeLarger(OpBuilder &builder, Value value,
                        RankedTensorType type) {
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    return splat ? arith::ConstantOp::create(builder, op->getLoc(),
                                             splat.resizeSplat(type))
                 : Value();
  }
  if (auto iota = dyn_cast_or_null<IotaOp>(op))
    return IotaOp::create(builder, op->getLoc(), type, iota.getDim());
  auto broadcast = dyn_cast_or_null<BroadcastOp>(op);
  if (!broadcast)
    return {};
  for (int64_t dim : broadcast.getDims())
    if (typeOf(value).getDimSize(dim) != type.getDimSize(dim))
      return {};
  return BroadcastOp::create(builder, op->getLoc(), type,
                             broadcast.getOperand(), broadcast.getDims());
}

/// Puts zeros behind dimensions that are smaller than in `shape`.
Value PaddedValues::enlarge(OpBuilder &builder, Value value,
                            ArrayRef<int64_t> shape) {
  RankedTensorType type = typeOf(value);
  if (shape == type.getShape())
    return value;
  Value result = makeLarger(builder, value, type.clone(shape));
  if (!result) {
    SmallVector<int64_t> none(shape.size(), 0), high;
    SmallBitVector zero(shape.size());
    for (auto [dim, size] : llvm::enumerate(shape)) {
      high.push_back(size - type.getDimSize(dim));
      if (high.back() != 0 || isZero(value, dim))
        zero.set(dim);
    }
    result = PadOp::create(
        builder, value.getLoc(), value, none, high, none,
        cast<TypedAttr>(builder.getZeroAttr(type.getElementType())));
    setZero(result, zero);
  }
  setOrigin(result.getDefiningOp(), getValueOrigin(value));
  if (ShardingAttr sharding = getSharding(value))
    setSharding(result, sharding);
  return result;
}

Value PaddedValues::inShape(Operation *user, Value value,
                            ArrayRef<int64_t> shape) {
  RankedTensorType wanted = typeOf(value).clone(shape);
  if (wanted == value.getType())
    return value;
  Value &made = inShapes[{value, wanted}];
  if (made)
    return made;
  OpBuilder builder(user);
  made = enlarge(builder, cut(builder, value, shape), shape);
  trueTypes.try_emplace(made, trueType(value));
  return made;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Value PaddedValues::masked(Operation *user, Value value, int64_t dim,
                           TypedAttr padding) {
  bool isZeroWanted = matchPattern(padding, m_AnyZeroFloat()) ||
                      matchPattern(padding, m_Zero());
  if (!isPadded(value, dim) || (isZeroWanted && isZero(value, dim)))
    return value;
  Value &made = maskedValues[{value, dim, padding}];
  if (made)
    return made;
  OpBuilder builder(user);
  made = MaskPaddingOp::create(builder, value.getLoc(), value, dim,
                               trueType(value).getDimSize(dim), padding);
  setOrigin(made.getDefiningOp(), getValueOrigin(value));
  ++numMasks;
  SmallBitVector zero(typeOf(value).getRank());
  for (int64_t other = 0; other < typeOf(value).getRank(); ++other)
    if (other == dim ? isZeroWanted : isZeroWanted && isZero(value, other))
      zero.set(other);
  setZero(made, zero);
  trueTypes.try_emplace(made, trueType(value));
  if (ShardingAttr sharding = getSharding(value))
    setSharding(made, sharding);
  return made;
}
