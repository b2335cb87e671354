//===- MicrobatchExits.cpp - What leaves a loop, as ops -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/MicrobatchExits.h"

#include "weft/IR/Origin.h"
#include "weft/IR/SourceLocation.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace weft {

Value makeInit(OpBuilder &builder, Operation *exit) {
  RankedTensorType type = typeOf(exit->getResult(0));
  Type element = type.getElementType();
  TypedAttr zero = builder.getZeroAttr(element);
  if (auto real = dyn_cast<FloatType>(element);
      real && isa<MicrobatchSumOp>(exit))
    zero = builder.getFloatAttr(
        element, APFloat::getZero(real.getFloatSemantics(), /*Negative=*/true));
  auto init = arith::ConstantOp::create(
      builder, exit->getLoc(), DenseElementsAttr::get(type, Attribute(zero)));
  setOrigin(init, getOrigin(exit));
  return init;
}

Value addMicrobatch(OpBuilder &builder, Operation *exit, Value carried,
                    Value value, Value index) {
  OriginListener listener(getOrigin(exit));
  OpBuilder b(builder);
  b.setListener(&listener);
  // What is added says more of where a sum comes from than the loop does.
  Location loc =
      isa<MicrobatchSumOp>(exit) ? locationOf(value) : exit->getLoc();
  if (isa<MicrobatchSumOp>(exit)) {
    if (isa<FloatType>(typeOf(value).getElementType()))
      return arith::AddFOp::create(b, loc, carried, value);
    return arith::AddIOp::create(b, loc, carried, value);
  }
  int64_t dim = cast<MicrobatchStackOp>(exit).getDim();
  RankedTensorType type = typeOf(carried);
  auto indexType = type.clone(b.getI32Type());
  SmallVector<int64_t> dims;
  for (int64_t other = 0; other < type.getRank(); ++other)
    if (other != dim)
      dims.push_back(other);
  Value place = IotaOp::create(b, loc, indexType, dim);
  Value own =
      BroadcastOp::create(b, loc, indexType, index, ArrayRef<int64_t>());
  Value isOwn =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, place, own);
  Value spread = BroadcastOp::create(b, loc, type, value, dims);
  return arith::SelectOp::create(b, loc, isOwn, spread, carried);
}

} // namespace weft
