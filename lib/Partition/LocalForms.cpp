//===- LocalForms.cpp - Ops whose local form differs ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalForms.h"

#include "weft/Partition/LocalFormModels.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace weft;
using sharding::AxisRef;

LocalResults weft::setTypes(Operation *op, ArrayRef<RankedTensorType> types) {
  for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
    result.setType(type);
  return SmallVector<Value>(op->getResults());
}

LocalResults weft::replaceResult(Operation *op, Value value) {
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
  return SmallVector<Value>{value};
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

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

namespace {

/// Of constants of different elements devices would hold different parts.
struct LocalConstant
    : LocalFormOpInterface::ExternalModel<LocalConstant, arith::ConstantOp> {
  LocalResults localize(Operation *op, const LocalForm &form) const {
    auto constant = cast<arith::ConstantOp>(op);
    RankedTensorType local = form.types.front();
    if (constant.getType() == local)
      return setTypes(op, form.types);
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat)
      return op->emitError() << "a constant of different elements must be "
                                "replicated here, got a shard of type "
                             << local << "; run --weft-insert-reshards before";
    constant.setValueAttr(splat.resizeSplat(local));
    return setTypes(op, form.types);
  }
};

/// Counts of a split float dimension are formed as integers: the sum of two
/// rounded numbers need not be the rounded sum.
struct LocalIota : LocalFormOpInterface::ExternalModel<LocalIota, IotaOp> {
  LocalResults localize(Operation *op, const LocalForm &form) const {
    int64_t dim = cast<IotaOp>(op).getDim();
    sharding::AxisList axes = form.axesOfResult(dim);
    if (axes.empty())
      return setTypes(op, form.types);
    OpBuilder builder(op);
    Location loc = op->getLoc();
    RankedTensorType local = form.types.front();
    bool isFloat = isa<FloatType>(local.getElementType());
    int64_t part = local.getDimSize(dim), size = part * numShards(axes);
    Type counter = isFloat ? integerFor(builder, size) : local.getElementType();
    auto counterType = local.clone(counter);

    Value count = IotaOp::create(builder, loc, counterType, dim);
    Value offset =
        createOffset(builder, loc, counter, part, axes, form.context);
    Value offsets = BroadcastOp::create(builder, loc, counterType, offset,
                                        ArrayRef<int64_t>());
    Value result = arith::AddIOp::create(builder, loc, count, offsets);
    if (isFloat)
      result = arith::SIToFPOp::create(builder, loc, local, result);
    return replaceResult(op, result);
  }
};

/// Compares with the number of elements from the part's first one on, not the
/// global index with the size: that adds once and not once an element.
struct LocalMask
    : LocalFormOpInterface::ExternalModel<LocalMask, MaskPaddingOp> {
  LocalResults localize(Operation *op, const LocalForm &form) const {
    auto mask = cast<MaskPaddingOp>(op);
    OpBuilder builder(op);
    Location loc = op->getLoc();
    RankedTensorType local = form.types.front();
    int64_t size = mask.getSize(), held = local.getDimSize(mask.getDim());
    Type integer = integerFor(builder, size + held);
    auto counterType = local.clone(integer);

    Value left = createScalar(builder, loc, integer, size);
    sharding::AxisList axes = form.axesOfResult(mask.getDim());
    if (!axes.empty())
      left = arith::SubIOp::create(
          builder, loc, left,
          createOffset(builder, loc, integer, held, axes, form.context));
    Value limit = BroadcastOp::create(builder, loc, counterType, left,
                                      ArrayRef<int64_t>());
    Value index = IotaOp::create(builder, loc, counterType, mask.getDim());
    Value isElement = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, index, limit);
    Value padding = arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(local, Attribute(mask.getValue())));
    return replaceResult(op,
                         arith::SelectOp::create(builder, loc, isElement,
                                                 mask.getOperand(), padding));
  }
};

} // namespace

void weft::registerLocalFormModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::ConstantOp::attachInterface<LocalConstant>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, WeftDialect *) {
    IotaOp::attachInterface<LocalIota>(*context);
    MaskPaddingOp::attachInterface<LocalMask>(*context);
    attachLocalAttention(*context);
    attachLocalGather(*context);
    attachLocalMoves(*context);
    attachLocalWindows(*context);
  });
}
