//===- MaskedIteration.cpp - Iterations that may not happen ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskedIteration.h"
#include "Updates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

/// Whether two values are computed in the same way.
static bool isSameComputation(Value x, Value y,
                              DenseSet<std::pair<Value, Value>> &known) {
  if (x == y || !known.insert({x, y}).second)
    return true;
  Operation *a = x.getDefiningOp(), *b = y.getDefiningOp();
  if (!a || !b || a->getName() != b->getName() || a->getNumRegions() != 0 ||
      a->getAttrDictionary() != b->getAttrDictionary() ||
      a->getNumOperands() != b->getNumOperands() ||
      a->getResultTypes() != b->getResultTypes() ||
      cast<OpResult>(x).getResultNumber() !=
          cast<OpResult>(y).getResultNumber())
    return false;
  return llvm::all_of(
      llvm::zip_equal(a->getOperands(), b->getOperands()), [&](auto pair) {
        return isSameComputation(std::get<0>(pair), std::get<1>(pair), known);
      });
}

/// What a condition asks of each example, if it is whether any of them goes on.
static Value findExamples(Value condition) {
  auto any = condition.getDefiningOp<ReduceOp>();
  bool isAny = any && any.getKind() == sharding::Reduction::Max;
  return isAny ? any.getOperand() : Value();
}

static Value withoutBroadcast(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  return broadcast ? broadcast.getOperand() : value;
}

/// What the values of all examples that are changed are selected by; null if
/// that is not one value.
static Value findMask(const Values &given, const Values &made) {
  Value mask;
  for (auto [before, after] : llvm::zip_equal(given, made)) {
    if (!after || before == after ||
        (getConstant(after) && getConstant(before) == getConstant(after)))
      continue;
    auto select = after.getDefiningOp<arith::SelectOp>();
    if (!select || select.getFalseValue() != before)
      return {};
    Value by = withoutBroadcast(select.getCondition());
    if (mask && mask != by)
      return {};
    mask = by;
  }
  return mask;
}

/// `condition` where it holds for `made`, and what is kept where not.
Value MaskedIterations::choose(Value condition, Value made, unsigned index) {
  Value keep = kept[index];
  if (!made || !keep || made == keep)
    return made && keep ? made : Value();
  if (Attribute constant = getConstant(made);
      constant && constant == getConstant(keep))
    return made;
  Operation *op = made.getDefiningOp();
  Value by = c.broadcastScalar(condition, typeOf(made).getShape());
  // A stack that each iteration writes a part of stays a stack.
  std::optional<ArrayRef<int64_t>> starts =
      op ? getUpdateStarts(op) : std::nullopt;
  if (starts && op->getOperand(0) == keep && typeOf(condition).getRank() == 0) {
    Value part = op->getOperand(1);
    Shape limits;
    for (auto [start, size] : llvm::zip_equal(*starts, typeOf(part).getShape()))
      limits.push_back(start + size);
    Value old = sliceUpdated(c, keep, *starts, limits);
    by = c.broadcastScalar(condition, typeOf(part).getShape());
    return updateSlice(c, keep, c.make<arith::SelectOp>(by, part, old),
                       *starts);
  }
  return c.make<arith::SelectOp>(by, made, keep);
}

/// Whether it is true or false that an iteration has made, which may say that
/// the loop ends.
static bool isFlag(Value value) {
  RankedTensorType type = typeOf(value);
  return type && type.getRank() == 0 && type.getElementType().isInteger(1);
}

/// Hands on constants and flags as they are, and of other values those that are
/// chosen: numbers that an iteration makes when none is due may be none.
bool MaskedIterations::finish(const Values &made, const Values &chosen) {
  bool counts = false;
  for (unsigned i = 0; i < made.size(); ++i) {
    Attribute constant = getConstant(made[i]);
    Attribute before = getConstant(givenValues[i]);
    counts |= constant && before && constant != before;
    givenValues[i] = constant || isFlag(made[i]) ? made[i] : chosen[i];
  }
  kept = chosen;
  return counts;
}

bool MaskedIterations::addExamples(Value condition, const Values &made) {
  Value asked = findExamples(condition);
  Value mask = asked ? findMask(givenValues, made) : Value();
  DenseSet<std::pair<Value, Value>> known;
  if (!mask || !isSameComputation(asked, mask, known))
    return false;
  examplesGoOn =
      examplesGoOn ? c.make<arith::AndIOp>(examplesGoOn, mask) : mask;
  return true;
}

bool MaskedIterations::add(Value condition, const Values &made) {
  Values chosen(made);
  if (condition && !goesOn && addExamples(condition, made)) {
    Values inside(made);
    for (unsigned i = 0; i < made.size(); ++i) {
      auto select = made[i] ? made[i].getDefiningOp<arith::SelectOp>()
                            : arith::SelectOp();
      if (!select || made[i] == givenValues[i])
        continue;
      Value by = examplesGoOn;
      if (auto spread = select.getCondition().getDefiningOp<BroadcastOp>())
        by = c.broadcast(by, spread.getType().getShape(), spread.getDims());
      inside[i] = select.getTrueValue();
      chosen[i] = choose(by, inside[i], i);
    }
    return finish(inside, chosen);
  }
  // Of a batch, it must be known which examples go on.
  if (examplesGoOn)
    return false;
  if (condition)
    goesOn = goesOn ? c.make<arith::AndIOp>(goesOn, condition) : condition;
  if (goesOn)
    for (unsigned i = 0; i < made.size(); ++i)
      chosen[i] = choose(goesOn, made[i], i);
  return finish(made, chosen);
}
