//===- IntegerBounds.cpp - How large integers can be ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntegerBounds.h"
#include "Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

using Bound = std::optional<int64_t>;

/// Bounds are looked for no further: values may be used in many places.
static constexpr unsigned kDepth = 8;

/// A number that no element of a signed integer is above, if one is known.
static Bound findLargest(Value value, unsigned depth) {
  if (Bound constant = getSplatInteger(value))
    return constant;
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  auto of = [&](unsigned operand) {
    return findLargest(op->getOperand(operand), depth - 1);
  };
  if (isa<BroadcastOp, ReshapeOp>(op))
    return of(0);
  if (isa<arith::MinSIOp>(op)) {
    Bound x = of(0), y = of(1);
    return x && y ? Bound(std::min(*x, *y)) : x ? x : y;
  }
  if (isa<arith::RemSIOp>(op)) {
    Bound by = getSplatInteger(op->getOperand(1));
    return by && *by > 0 ? Bound(*by - 1) : std::nullopt;
  }
  // It cannot wrap around at the top, which it does not reach.
  if (isa<arith::AddIOp>(op)) {
    Bound x = of(0), by = getSplatInteger(op->getOperand(1));
    constexpr int64_t most = 1 << 20;
    return x && by && *by >= 0 && *x < most && *by < most ? Bound(*x + *by)
                                                          : std::nullopt;
  }
  if (isa<arith::MaxSIOp, arith::SelectOp>(op)) {
    unsigned first = isa<arith::SelectOp>(op) ? 1 : 0;
    Bound x = of(first), y = of(first + 1);
    return x && y ? Bound(std::max(*x, *y)) : std::nullopt;
  }
  return std::nullopt;
}

bool weft::stablehlo::isNeverTrue(Value condition) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return isNeverTrue(both.getLhs()) || isNeverTrue(both.getRhs());
  // `counter < n`: folding puts the constant second.
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::sgt)
    return false;
  Bound largest = findLargest(compare.getLhs(), kDepth);
  Bound counter = getSplatInteger(compare.getRhs());
  return counter && largest && *largest <= *counter;
}
