//===- MicrobatchLoops.cpp - Loops that add up over micro-batches ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MicrobatchLoops.h"
#include "Importer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

namespace {

/// Compares two turns of a loop.
class TurnComparison {
public:
  TurnComparison(const LoopTurn &first, const LoopTurn &second, int64_t count)
      : first(first), second(second), count(count) {}

  /// Whether they are turns of a loop over micro-batches.
  bool run();

  /// What a slice takes, with the dimension of the turns.
  llvm::MapVector<SliceOp, int64_t> slices;
  /// By carried value, the op that adds to it; null for others.
  SmallVector<Operation *> sums;

private:
  bool compareOps(Operation *a, Operation *b);
  bool isCarried(Value a, Value b) const;
  bool corresponds(Value a, Value b) const;
  bool compareSlices(SliceOp a, SliceOp b);
  bool findSums();

  const LoopTurn &first, &second;
  int64_t count;
  /// From values of the first turn to those of the second.
  DenseMap<Value, Value> counterparts;
  /// Uses in the first turn of a value that it was given and that changes.
  llvm::SmallSetVector<OpOperand *, 8> carriedUses;
};

} // namespace

/// A slice at the number of the turn: of the first element along one
/// dimension, and then of the second.
bool TurnComparison::compareSlices(SliceOp a, SliceOp b) {
  if (a.getType() != b.getType() || a.getStrides() != b.getStrides())
    return false;
  std::optional<int64_t> turns;
  for (int64_t dim = 0; dim < a.getType().getRank(); ++dim) {
    int64_t start = a.getStarts()[dim];
    if (start == b.getStarts()[dim] && a.getLimits()[dim] == b.getLimits()[dim])
      continue;
    if (turns || start != 0 || b.getStarts()[dim] != 1 ||
        a.getType().getDimSize(dim) != 1 ||
        a.getOperand().getType().getDimSize(dim) != count)
      return false;
    turns = dim;
  }
  if (!turns)
    return true;
  // The rest of the dimensions whole: a slice of a slice is not looked for.
  for (int64_t dim = 0; dim < a.getType().getRank(); ++dim)
    if (dim != *turns &&
        a.getType().getDimSize(dim) != a.getOperand().getType().getDimSize(dim))
      return false;
  slices[a] = *turns;
  return true;
}

/// Whether the first turn was given `a`, and the second one `b` in its place.
bool TurnComparison::isCarried(Value a, Value b) const {
  return a != b &&
         llvm::any_of(llvm::zip_equal(first.given, first.results),
                      [&](auto pair) { return pair == std::tuple(a, b); });
}

/// Whether `b` is to the second turn what `a` is to the first.
bool TurnComparison::corresponds(Value a, Value b) const {
  if (Value counterpart = counterparts.lookup(a))
    return counterpart == b;
  Attribute ofA, ofB;
  return a == b || isCarried(a, b) ||
         (matchPattern(a, m_Constant(&ofA)) &&
          matchPattern(b, m_Constant(&ofB)) && ofA == ofB);
}

bool TurnComparison::compareOps(Operation *a, Operation *b) {
  if (a->getName() != b->getName() ||
      a->getNumOperands() != b->getNumOperands() ||
      a->getResultTypes() != b->getResultTypes() || a->getNumRegions() != 0)
    return false;
  // All that counters decide is what slices take.
  if (a->getAttrDictionary() != b->getAttrDictionary()) {
    auto slice = dyn_cast<SliceOp>(a);
    if (!slice || !compareSlices(slice, cast<SliceOp>(b)))
      return false;
  }
  // Folding puts a constant, as the zero that a sum begins with, second.
  SmallVector<Value> operands(b->getOperands());
  if (a->hasTrait<OpTrait::IsCommutative>() && operands.size() == 2 &&
      !corresponds(a->getOperand(0), operands[0]))
    std::swap(operands[0], operands[1]);
  for (auto [use, other] : llvm::zip_equal(a->getOpOperands(), operands)) {
    if (!corresponds(use.get(), other))
      return false;
    if (!counterparts.contains(use.get()) && isCarried(use.get(), other))
      carriedUses.insert(&use);
  }
  for (auto [x, y] : llvm::zip_equal(a->getResults(), b->getResults()))
    counterparts[x] = y;
  return true;
}

static bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

/// Each carried value is handed on, counted, or a sum; nothing but a sum reads
/// one that changes.
bool TurnComparison::findSums() {
  bool any = false;
  for (auto [given, result, next] :
       llvm::zip_equal(first.given, first.results, second.results)) {
    sums.push_back(nullptr);
    if (!given || !result || !next)
      return false;
    if (given == result && result == next)
      continue;
    if (getSplatInteger(given) && getSplatInteger(result) &&
        getSplatInteger(next))
      continue;
    Operation *add = result.getDefiningOp();
    if (!isa_and_present<arith::AddFOp, arith::AddIOp>(add) ||
        counterparts.lookup(result) != next || !isZero(given) ||
        !llvm::is_contained(first.ops, add))
      return false;
    auto use = llvm::find_if(carriedUses, [&](OpOperand *each) {
      return each->getOwner() == add && each->get() == given;
    });
    // In the first turn only the return reads the new sum.
    bool isRead = llvm::any_of(result.getUsers(), [&](Operation *user) {
      return llvm::is_contained(first.ops, user);
    });
    if (use == carriedUses.end() || isRead)
      return false;
    carriedUses.remove(*use);
    sums.back() = add;
    any = true;
  }
  return any && carriedUses.empty();
}

bool TurnComparison::run() {
  if (first.ops.size() != second.ops.size())
    return false;
  for (auto [a, b] : llvm::zip_equal(first.ops, second.ops))
    if (!compareOps(a, b))
      return false;
  return findSums() && !slices.empty();
}

/// The operand of a sum that is not the sum so far.
static Value addendOf(Operation *add, Value given) {
  return add->getOperand(0) == given ? add->getOperand(1) : add->getOperand(0);
}

std::optional<Values> weft::stablehlo::formMicrobatches(Conversion &c,
                                                        const LoopTurn &first,
                                                        const LoopTurn &second,
                                                        int64_t count) {
  TurnComparison comparison(first, second, count);
  if (!comparison.run())
    return std::nullopt;
  for (Operation *op : llvm::reverse(second.ops))
    op->erase();
  MLIRContext *context = c.builder.getContext();
  auto name = StringAttr::get(
      context, "loop" + std::to_string(c.getImporter().countLoop()));
  auto loop = MicrobatchesAttr::get(context, name, count);
  for (auto [slice, dim] : comparison.slices) {
    OpBuilder::InsertionGuard guard(c.builder);
    c.builder.setInsertionPoint(slice);
    SmallVector<int64_t> shape(slice.getType().getShape());
    shape.erase(shape.begin() + dim);
    Value part = MicrobatchSliceOp::create(c.builder, slice.getLoc(),
                                           slice.getType().clone(shape),
                                           slice.getOperand(), dim, loop);
    Value whole =
        ReshapeOp::create(c.builder, slice.getLoc(), slice.getType(), part);
    Operation *old = slice;
    old->replaceAllUsesWith(ValueRange(whole));
    old->erase();
  }
  Values results;
  for (auto [given, add] : llvm::zip_equal(first.given, comparison.sums)) {
    bool isHandedOn = given == first.results[results.size()];
    Value result = isHandedOn ? given : Value();
    if (add) {
      result = c.make<MicrobatchSumOp>(addendOf(add, given), loop);
      add->erase();
    }
    results.push_back(result);
  }
  return results;
}
