//===- Movement.cpp - A value that moves for an operand ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Movement.h"

#include "HeldVersions.h"

#include "weft/IR/ValueSharding.h"

using namespace mlir;
using namespace weft;
using namespace weft::sharding;

/// Ops that are gone back over.
static constexpr int maxSteps = 256;

Value weft::valueBehind(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<BarrierOp, MicrobatchUseOp>(op) && !isMarker(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

bool weft::overlapsAny(ArrayRef<AxisRef> axes, const AxisRef &axis) {
  return llvm::any_of(
      axes, [&](const AxisRef &other) { return other.overlaps(axis); });
}

bool weft::isSplitOver(const Sharding &sharding, const AxisRef &axis) {
  return llvm::any_of(sharding.dims, [&](const DimSharding &dim) {
    return overlapsAny(dim.axes, axis);
  });
}

Sharding weft::shardingWhileVisited(Value value, ReshardPrices &prices) {
  return prices.get(prices.intern(getSharding(value), typeOf(value).getRank()));
}

Value weft::originOfTerms(Value value, const AxisRef &axis,
                          ReshardPrices &prices) {
  value = valueBehind(value);
  for (int step = 0; step < maxSteps; ++step) {
    Operation *op = value.getDefiningOp();
    if (!op)
      break;
    auto holds = [&](Value operand) {
      return overlapsAny(shardingWhileVisited(operand, prices).unreduced, axis);
    };
    auto terms = llvm::find_if(op->getOperands(), holds);
    if (terms == op->operand_end())
      break;
    value = valueBehind(*terms);
  }
  return value;
}
