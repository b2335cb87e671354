//===- LowerReshard.cpp - Reshards as collectives -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerReshard.h"

#include "weft/IR/NeutralElement.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;
using sharding::Reduction;
using sharding::ReshardKind;
using sharding::ReshardStep;

static Value createSplat(OpBuilder &builder, Location loc,
                         RankedTensorType type, TypedAttr element) {
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, element));
}

/// Position 0 along the axes keeps the value, the others take the neutral
/// element.
static Value lowerMask(OpBuilder &builder, Location loc, Value position,
                       Value value, Reduction reduction) {
  auto type = cast<RankedTensorType>(value.getType());
  auto positionType = cast<RankedTensorType>(position.getType());
  Value zero = createSplat(builder, loc, positionType,
                           builder.getZeroAttr(positionType.getElementType()));
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        position, zero);
  Value everywhere =
      BroadcastOp::create(builder, loc, type.clone(builder.getI1Type()),
                          isFirst, ArrayRef<int64_t>());
  Value neutral = createSplat(builder, loc, type,
                              neutralElement(type.getElementType(), reduction));
  return arith::SelectOp::create(builder, loc, everywhere, value, neutral);
}

/// What `reduce` makes of a value and the type of its result: in i32 for i16,
/// of which NCCL has no reductions.
static Value
reduceAsSent(OpBuilder &builder, Location loc, RankedTensorType type,
             Value value,
             llvm::function_ref<Value(RankedTensorType, Value)> reduce) {
  if (!type.getElementType().isInteger(16))
    return reduce(type, value);
  auto own = cast<RankedTensorType>(value.getType());
  Type sent = builder.getI32Type();
  Value wide = arith::ExtSIOp::create(builder, loc, own.clone(sent), value);
  return arith::TruncIOp::create(builder, loc, type,
                                 reduce(type.clone(sent), wide));
}

Value weft::lowerReshard(OpBuilder &builder, Location loc,
                         const MeshContext &context,
                         const sharding::ReshardPlan &plan, Value value,
                         RankedTensorType global, Reduction reduction,
                         StringAttr cause) {
  for (const ReshardStep &step : plan.steps) {
    AxesAttr axes = context.axes(step.axes);
    auto type = global.clone(*localShape(global.getShape(), step.result));
    switch (step.kind) {
    case ReshardKind::AllSlice:
      value =
          AllSliceOp::create(builder, loc, type, value, step.dim, axes, cause);
      break;
    case ReshardKind::AllGather:
      value =
          AllGatherOp::create(builder, loc, type, value, step.dim, axes, cause);
      break;
    case ReshardKind::AllToAll:
      value = AllToAllOp::create(builder, loc, type, value, step.dim,
                                 step.concatDim, axes, cause);
      break;
    case ReshardKind::Permute:
      value = PermuteOp::create(builder, loc, type, value, axes,
                                context.axes(step.toAxes), cause);
      break;
    case ReshardKind::ReduceScatter:
      value = reduceAsSent(
          builder, loc, type, value, [&](RankedTensorType type, Value value) {
            return ReduceScatterOp::create(builder, loc, type, reduction, value,
                                           step.dim, axes, cause);
          });
      break;
    case ReshardKind::AllReduce:
      value = reduceAsSent(
          builder, loc, type, value, [&](RankedTensorType type, Value value) {
            return AllReduceOp::create(builder, loc, type, reduction, value,
                                       axes, cause);
          });
      break;
    case ReshardKind::MaskToUnreduced: {
      auto position = RankedTensorType::get({}, builder.getI32Type());
      reduction = step.result.unreducedKind;
      value = lowerMask(builder, loc,
                        PositionOp::create(builder, loc, position, axes), value,
                        reduction);
      break;
    }
    }
  }
  return value;
}
