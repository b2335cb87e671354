//===- IntegerBounds.cpp - How large integers can be ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntegerBounds.h"
#include "Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

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

/// Whether `counter < n`, which folding writes as `n > counter`, cannot hold.
static bool isBeyond(arith::CmpIOp compare) {
  if (compare.getPredicate() != arith::CmpIPredicate::sgt)
    return false;
  Bound largest = findLargest(compare.getLhs(), kDepth);
  Bound counter = getSplatInteger(compare.getRhs());
  return counter && largest && *largest <= *counter;
}

namespace {
/// A condition as a function of other values, which it is computed of by
/// logical ops.
class TruthTable {
public:
  /// Whether it is false for all values of up to kMostInputs others.
  bool isFalse(Value condition);

private:
  bool evaluate(Value value, bool isFinding);

  static constexpr unsigned kMostInputs = 10;
  llvm::MapVector<Value, bool> inputs;
  llvm::DenseMap<Value, bool> known;
};
} // namespace

/// The value for what is set of the inputs; they are found on the way the first
/// time.
bool TruthTable::evaluate(Value value, bool isFinding) {
  if (auto constant = getSplatInteger(value))
    return *constant != 0;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  auto of = [&](unsigned operand) {
    return evaluate(op->getOperand(operand), isFinding);
  };
  bool result = false;
  if (isa_and_present<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) {
    bool x = of(0), y = of(1);
    result = isa<arith::AndIOp>(op)  ? x && y
             : isa<arith::OrIOp>(op) ? x || y
                                     : x != y;
  } else if (isa_and_present<arith::SelectOp>(op)) {
    bool by = of(0), x = of(1), y = of(2);
    result = by ? x : y;
  } else if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
             !compare || !isBeyond(compare)) {
    if (isFinding)
      inputs.insert({value, false});
    result = inputs.lookup(value);
  }
  known[value] = result;
  return result;
}

bool TruthTable::isFalse(Value condition) {
  if (evaluate(condition, /*isFinding=*/true) || inputs.size() > kMostInputs)
    return false;
  for (uint64_t setting = 1; setting < uint64_t(1) << inputs.size();
       ++setting) {
    for (auto [index, input] : llvm::enumerate(inputs))
      input.second = (setting >> index) & 1;
    known.clear();
    if (evaluate(condition, /*isFinding=*/false))
      return false;
  }
  return true;
}

bool weft::stablehlo::isNeverTrue(Value condition) {
  auto type = dyn_cast<RankedTensorType>(condition.getType());
  bool isScalar =
      type && type.getRank() == 0 && type.getElementType().isInteger(1);
  return isScalar && TruthTable().isFalse(condition);
}
