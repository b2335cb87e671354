//===- NeutralElement.cpp - What changes no sum or maximum ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/NeutralElement.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace weft;
using sharding::Reduction;

TypedAttr weft::neutralElement(Type type, Reduction reduction) {
  if (auto floating = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    if (reduction == Reduction::Sum)
      return FloatAttr::get(type, APFloat::getZero(semantics));
    return FloatAttr::get(
        type, APFloat::getInf(semantics, reduction == Reduction::Max));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1) // true is 1, not -1
    return BoolAttr::get(type.getContext(), reduction == Reduction::Min);
  switch (reduction) {
  case Reduction::Sum:
    return IntegerAttr::get(type, APInt::getZero(width));
  case Reduction::Max:
    return IntegerAttr::get(type, APInt::getSignedMinValue(width));
  case Reduction::Min:
    return IntegerAttr::get(type, APInt::getSignedMaxValue(width));
  }
  llvm_unreachable("all reductions are covered");
}
