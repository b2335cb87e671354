//===- LocalForms.cpp - Ops whose local form differs ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalForms.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace weft;
using sharding::AxisRef;

LogicalResult weft::localizeConstant(arith::ConstantOp op,
                                     RankedTensorType local) {
  if (op.getType() == local)
    return success();
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!splat)
    return op.emitError() << "a constant of different elements must be "
                             "replicated here, got a part of type "
                          << local << "; run --weft-insert-reshards before";
  op.setValueAttr(splat.resizeSplat(local));
  op.getResult().setType(local);
  return success();
}

void weft::localizeSlice(SliceOp op, RankedTensorType local) {
  SmallVector<int64_t> limits(op.getLimits());
  for (auto [dim, limit] : llvm::enumerate(limits))
    if (local.getDimSize(dim) != op.getType().getDimSize(dim))
      limit = op.getOperand().getType().getDimSize(dim);
  op.setLimits(limits);
  op.getResult().setType(local);
}

/// A constant of rank 0.
static Value createScalar(OpBuilder &builder, Location loc, Type element,
                          int64_t value) {
  auto type = RankedTensorType::get({}, element);
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, builder.getIntegerAttr(element, value)));
}

IntegerType weft::integerFor(Builder &builder, int64_t count) {
  return count > std::numeric_limits<int32_t>::max() ? builder.getI64Type()
                                                     : builder.getI32Type();
}

/// Positions are i32. A wider number is widened first: the product might not
/// fit.
Value weft::createOffset(OpBuilder &builder, Location loc, Type integer,
                         int64_t size, ArrayRef<AxisRef> axes,
                         const MeshContext &context) {
  auto positionType = RankedTensorType::get({}, builder.getI32Type());
  Type type = positionType.clone(integer);
  bool isWider = integer.getIntOrFloatBitWidth() > 32;
  Value offset =
      PositionOp::create(builder, loc, positionType, context.axes(axes));
  if (isWider)
    offset = arith::ExtSIOp::create(builder, loc, type, offset);
  Value factor =
      createScalar(builder, loc, getElementTypeOrSelf(offset.getType()), size);
  offset = arith::MulIOp::create(builder, loc, offset, factor);
  if (offset.getType() != type)
    offset = arith::TruncIOp::create(builder, loc, type, offset);
  return offset;
}

/// Counts of a split float dimension are formed as integers: the sum of two
/// rounded numbers need not be the rounded sum.
Value weft::localizeIota(IotaOp op, RankedTensorType local,
                         ArrayRef<AxisRef> axes, const MeshContext &context) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type element = local.getElementType();
  bool isFloat = isa<FloatType>(element);
  int64_t size = local.getDimSize(op.getDim()) * numShards(axes);
  Type counter = isFloat ? integerFor(builder, size) : element;
  auto counterType = local.clone(counter);

  Value count = IotaOp::create(builder, loc, counterType, op.getDim());
  Value offset = createOffset(builder, loc, counter,
                              local.getDimSize(op.getDim()), axes, context);
  Value offsets = BroadcastOp::create(builder, loc, counterType, offset,
                                      ArrayRef<int64_t>());
  Value result = arith::AddIOp::create(builder, loc, count, offsets);
  if (isFloat)
    result = arith::SIToFPOp::create(builder, loc, local, result);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
  return result;
}

/// Compares with the number of elements from the part's first one on, not the
/// global place with the size: that adds once and not once an element.
Value weft::localizeMask(MaskPaddingOp op, RankedTensorType local,
                         ArrayRef<AxisRef> axes, const MeshContext &context) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t size = op.getSize(), held = local.getDimSize(op.getDim());
  Type integer = integerFor(builder, size + held);
  auto counterType = local.clone(integer);

  Value left = createScalar(builder, loc, integer, size);
  if (numShards(axes) > 1)
    left = arith::SubIOp::create(
        builder, loc, left,
        createOffset(builder, loc, integer, held, axes, context));
  Value limit =
      BroadcastOp::create(builder, loc, counterType, left, ArrayRef<int64_t>());
  Value place = IotaOp::create(builder, loc, counterType, op.getDim());
  Value isElement = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::slt, place, limit);
  Value padding = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(local, Attribute(op.getValue())));
  Value result = arith::SelectOp::create(builder, loc, isElement,
                                         op.getOperand(), padding);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
  return result;
}
