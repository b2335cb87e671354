//===- ConvertArgReduce.cpp - argmax and argmin ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a pair of tensors, values and indices, the extreme value and the least
// index that has it: two reductions of a graph, which know what to do with a
// dimension that is split.
//
//===----------------------------------------------------------------------===//

#include "Converters.h"
#include "Reducer.h"
#include "RegionFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

/// Whether the region keeps the greater (the less) of two values with its
/// index, a NaN before all others, and of equal ones the less index. Which of
/// two NaNs it keeps is left to it.
static bool keepsExtreme(Operation *op, bool isMax) {
  Region &region = op->getRegion(0);
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  for (double x : samplesOf(element))
    for (double y : samplesOf(element))
      for (auto [i, j] : {std::pair(0, 1), {1, 0}, {1, 1}}) {
        auto kept = evaluate(region, {x, double(i), y, double(j)});
        if (!kept || kept->size() != 2)
          return false;
        if (std::isnan(x) && std::isnan(y))
          continue;
        bool isFirst = std::isnan(x) || (isMax ? x > y : x < y);
        bool isSecond = std::isnan(y) || (isMax ? x < y : x > y);
        double value = isFirst ? x : y;
        double index = isFirst ? i : isSecond ? j : std::min(i, j);
        bool isSame =
            std::isnan(value) ? std::isnan((*kept)[0]) : (*kept)[0] == value;
        if (!isSame || (*kept)[1] != index)
          return false;
      }
  return true;
}

Values weft::stablehlo::convertArgReduce(Conversion &c) {
  Operation *op = c.getSource();
  Value x = c.operand(0), index = c.operand(1);
  Dims dims = c.integers("dimensions");
  Values failed = {nullptr, nullptr};
  if (!x || !index || c.hasFailed())
    return failed;
  if (op->getNumRegions() != 1 || op->getNumResults() != 2 ||
      !isa<IntegerType>(typeOf(index).getElementType()) ||
      typeOf(x).getShape() != typeOf(index).getShape()) {
    c.unsupported("of 2 tensors at once, other than argmax and argmin");
    return failed;
  }
  bool isMax = keepsExtreme(op, /*isMax=*/true);
  Reducer reducer = isMax ? Reducer::Max : Reducer::Min;
  Value first = c.operand(3);
  // An initial value that an element equals brings its index, 0.
  if ((!isMax && !keepsExtreme(op, /*isMax=*/false)) ||
      !isNeutral(c, reducer, c.operand(2)) || getSplatInteger(first) != 0) {
    c.unsupported("of 2 tensors at once, other than argmax and argmin");
    return failed;
  }
  llvm::sort(dims);
  Value extreme = reduce(c, reducer, x, dims);
  if (!extreme)
    return failed;
  Dims kept;
  for (int64_t dim = 0; dim < typeOf(x).getRank(); ++dim)
    if (!llvm::is_contained(dims, dim))
      kept.push_back(dim);
  Value spread = c.broadcast(extreme, typeOf(x).getShape(), kept), isHere;
  if (isa<FloatType>(typeOf(x).getElementType())) {
    // A NaN is the extreme, and equals nothing.
    Value isNan = c.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
    isHere = c.make<arith::OrIOp>(
        c.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, spread), isNan);
  } else {
    isHere = c.make<arith::CmpIOp>(arith::CmpIPredicate::eq, x, spread);
  }
  unsigned width = typeOf(index).getElementTypeBitWidth();
  Value last = c.splat(typeOf(index), cast<TypedAttr>(c.builder.getIntegerAttr(
                                          typeOf(index).getElementType(),
                                          APInt::getSignedMaxValue(width))));
  Value candidates = c.make<arith::SelectOp>(isHere, index, last);
  Value least = c.make<ReduceOp>(c.type(1), sharding::Reduction::Min,
                                 candidates, ArrayRef<int64_t>(dims));
  return {extreme, least};
}
