//===- MicrobatchLoops.cpp - Loops that add up over micro-batches ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MicrobatchLoops.h"
#include "Importer.h"
#include "Updates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

namespace {

/// Compares the first iteration of a loop with another one.
class IterationComparison {
public:
  /// `number` is that of the second one, and `count` how many there are, or
  /// nothing where that is not known yet.
  IterationComparison(const LoopIteration &first, const LoopIteration &second,
                      int64_t number, std::optional<int64_t> count)
      : first(first), second(second), number(number), count(count) {}

  /// Whether they are iterations of a loop over micro-batches, which knows some
  /// of what it carries as counters.
  bool run(llvm::function_ref<bool(unsigned)> isCounter);

  /// Whether another iteration is like the first one as this one is.
  bool hasSame(const IterationComparison &other) const {
    return llvm::equal(slices, other.slices) &&
           llvm::equal(stacks, other.stacks) && exits == other.exits;
  }

  /// What a slice takes, with the dimension of the iterations.
  llvm::MapVector<SliceOp, int64_t> slices;
  /// By carried value, the op that adds to it or writes a part of it; null for
  /// others.
  SmallVector<Operation *> exits;
  /// Ops that write a part of a stack, with the dimension of the iterations.
  llvm::MapVector<Operation *, int64_t> stacks;

private:
  bool compareOps(Operation *a, Operation *b);
  bool isCarried(Value a, Value b) const;
  bool corresponds(Value a, Value b) const;
  bool compareSlices(SliceOp a, SliceOp b);
  bool compareUpdates(Operation *a, Operation *b);
  bool compareAttributes(Operation *a, Operation *b);
  bool isExit(Operation *op, Value given, Value result) const;
  bool findExits(llvm::function_ref<bool(unsigned)> isCounter);

  const LoopIteration &first, &second;
  int64_t number;
  std::optional<int64_t> count;
  /// From values of the first iteration to those of the second.
  DenseMap<Value, Value> counterparts;
  /// Uses in the first iteration of a value that it was given and that changes,
  /// with the operand of the same use in the second one.
  llvm::SmallMapVector<OpOperand *, Value, 8> carriedUses;
};

} // namespace

/// A slice at the number of the iteration, along one dimension.
bool IterationComparison::compareSlices(SliceOp a, SliceOp b) {
  if (a.getType() != b.getType() || a.getStrides() != b.getStrides())
    return false;
  std::optional<int64_t> iterations;
  for (int64_t dim = 0; dim < a.getType().getRank(); ++dim) {
    int64_t start = a.getStarts()[dim];
    if (start == b.getStarts()[dim] && a.getLimits()[dim] == b.getLimits()[dim])
      continue;
    if (iterations || start != 0 || b.getStarts()[dim] != number ||
        a.getType().getDimSize(dim) != 1 ||
        (count && a.getOperand().getType().getDimSize(dim) != count))
      return false;
    iterations = dim;
  }
  if (!iterations)
    return true;
  // The rest of the dimensions whole: a slice of a slice is not looked for.
  for (int64_t dim = 0; dim < a.getType().getRank(); ++dim)
    if (dim != *iterations &&
        a.getType().getDimSize(dim) != a.getOperand().getType().getDimSize(dim))
      return false;
  slices[a] = *iterations;
  return true;
}

/// The most elements of an iteration that are stacked: numbers such as a loss.
/// Every iteration walks the whole stack, and what a derivative keeps of a loop
/// is read by another one, which is unrolled.
static constexpr int64_t mostStacked = 4096;

/// An update at the number of the iteration, of a stack with one for each
/// iteration.
bool IterationComparison::compareUpdates(Operation *a, Operation *b) {
  auto starts = getUpdateStarts(a), next = getUpdateStarts(b);
  if (!starts || !next)
    return false;
  auto whole = cast<RankedTensorType>(a->getResult(0).getType());
  auto part = cast<RankedTensorType>(a->getOperand(1).getType());
  std::optional<int64_t> iterations;
  for (int64_t dim = 0; dim < whole.getRank(); ++dim) {
    if (part.getDimSize(dim) == whole.getDimSize(dim))
      continue;
    if (iterations || (*starts)[dim] != 0 || (*next)[dim] != number ||
        part.getDimSize(dim) != 1 || (count && whole.getDimSize(dim) != count))
      return false;
    iterations = dim;
  }
  if (!iterations || part.getNumElements() > mostStacked)
    return false;
  stacks[a] = *iterations;
  return true;
}

/// Iterations differ in what slices take, and where updates are.
bool IterationComparison::compareAttributes(Operation *a, Operation *b) {
  if (a->getAttrDictionary() == b->getAttrDictionary())
    return true;
  auto slice = dyn_cast<SliceOp>(a);
  return slice ? compareSlices(slice, cast<SliceOp>(b)) : compareUpdates(a, b);
}

/// Whether the first iteration was given `a`, and the second one `b` in its
/// place.
bool IterationComparison::isCarried(Value a, Value b) const {
  return a != b &&
         llvm::any_of(llvm::zip_equal(first.given, second.given),
                      [&](auto pair) { return pair == std::tuple(a, b); });
}

/// Whether `b` is to the second iteration what `a` is to the first.
bool IterationComparison::corresponds(Value a, Value b) const {
  if (Value counterpart = counterparts.lookup(a))
    return counterpart == b;
  Attribute ofA, ofB;
  return a == b || isCarried(a, b) ||
         (matchPattern(a, m_Constant(&ofA)) &&
          matchPattern(b, m_Constant(&ofB)) && ofA == ofB);
}

bool IterationComparison::compareOps(Operation *a, Operation *b) {
  if (a->getName() != b->getName() ||
      a->getNumOperands() != b->getNumOperands() ||
      a->getResultTypes() != b->getResultTypes() || a->getNumRegions() != 0 ||
      !compareAttributes(a, b))
    return false;
  // Folding puts a constant, as the zero that a sum begins with, second.
  SmallVector<Value> operands(b->getOperands());
  if (a->hasTrait<OpTrait::IsCommutative>() && operands.size() == 2 &&
      !corresponds(a->getOperand(0), operands[0]))
    std::swap(operands[0], operands[1]);
  for (auto [use, other] : llvm::zip_equal(a->getOpOperands(), operands)) {
    if (!corresponds(use.get(), other))
      return false;
    if (!counterparts.contains(use.get()) && isCarried(use.get(), other))
      carriedUses[&use] = other;
  }
  for (auto [x, y] : llvm::zip_equal(a->getResults(), b->getResults()))
    counterparts[x] = y;
  return true;
}

/// What a program whose axes are all explicit constrains, which is everything.
static Value withoutConstraints(Value value) {
  while (auto constraint = value.getDefiningOp<ConstraintOp>())
    value = constraint.getOperand();
  return value;
}

static bool isZero(Value value) {
  value = withoutConstraints(value);
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

/// Whether an iteration hands on what it was given. A constant may have been
/// folded to another op, as the gradient of a parameter that nobody uses.
static bool isSame(Value given, Value result) {
  Attribute ofGiven, ofResult;
  return given == result ||
         (matchPattern(given, m_Constant(&ofGiven)) &&
          matchPattern(result, m_Constant(&ofResult)) && ofGiven == ofResult);
}

/// Whether `op` adds something to what begins with zero.
static bool addsToZero(Operation *op, Value given) {
  return isa_and_present<arith::AddFOp, arith::AddIOp>(op) && isZero(given) &&
         llvm::is_contained(op->getOperands(), given);
}

/// Whether only the return reads what `op` of an iteration makes `result` of.
static bool isHandedOnOnly(const LoopIteration &iteration, Operation *op,
                           Value result) {
  if (!llvm::is_contained(iteration.ops, op))
    return false;
  auto countReaders = [&](Value value) {
    return llvm::count_if(value.getUsers(), [&](Operation *user) {
      return llvm::is_contained(iteration.ops, user);
    });
  };
  int64_t readers = 0;
  for (Value value = result; countReaders(value) == readers; readers = 1) {
    Operation *definer = value.getDefiningOp();
    if (definer == op)
      return true;
    value = definer->getOperand(0);
  }
  return false;
}

/// Whether `op` adds something to `given`, which begins with zero, or writes
/// its iteration's part of it. In the first iteration only the return reads
/// `result`.
bool IterationComparison::isExit(Operation *op, Value given,
                                 Value result) const {
  return (addsToZero(op, given) || stacks.contains(op)) &&
         isHandedOnOnly(first, op, result);
}

/// Each carried value is handed on, counted, a sum or a stack; nothing but that
/// reads one that changes. Of several that begin alike, each is its own sum.
bool IterationComparison::findExits(
    llvm::function_ref<bool(unsigned)> isCounter) {
  bool any = false;
  for (unsigned i = 0; i < first.given.size(); ++i) {
    Value given = first.given[i], result = first.results[i],
          before = second.given[i], next = second.results[i];
    exits.push_back(nullptr);
    if (!given || !result || !before || !next)
      return false;
    if (isCounter(i) || (isSame(given, result) && isSame(before, next) &&
                         isSame(given, before)))
      continue;
    Operation *op = withoutConstraints(result).getDefiningOp();
    auto use = llvm::find_if(carriedUses, [&](auto &each) {
      return each.first->getOwner() == op && each.first->get() == given &&
             each.second == before;
    });
    if (use == carriedUses.end() || counterparts.lookup(result) != next ||
        !isExit(op, given, result))
      return false;
    carriedUses.erase(use);
    exits.back() = op;
    any |= !stacks.contains(op);
  }
  return any && carriedUses.empty();
}

bool IterationComparison::run(llvm::function_ref<bool(unsigned)> isCounter) {
  if (first.ops.size() != second.ops.size())
    return false;
  for (auto [a, b] : llvm::zip_equal(first.ops, second.ops))
    if (!compareOps(a, b))
      return false;
  return findExits(isCounter) && !slices.empty();
}

/// The operand of a sum that is not the sum so far.
static Value addendOf(Operation *add, Value given) {
  return add->getOperand(0) == given ? add->getOperand(1) : add->getOperand(0);
}

/// The stack of `part`, which has the dimension of the iterations with one
/// element.
static Value stackOf(Conversion &c, Value part, Type type, int64_t dim,
                     MicrobatchesAttr loop) {
  SmallVector<int64_t> shape(typeOf(part).getShape());
  shape.erase(shape.begin() + dim);
  Value single = c.make<ReshapeOp>(typeOf(part).clone(shape), part);
  return c.make<MicrobatchStackOp>(type, single, dim, loop);
}

/// Erases what made `old`: `exit`, and constraints. Returns `result` with them.
static Value replaceExit(Conversion &c, Value old, Operation *exit,
                         Value result) {
  SmallVector<ShardingAttr> shardings;
  while (Operation *op = old.getDefiningOp()) {
    old = op->getOperand(0);
    if (auto constraint = dyn_cast<ConstraintOp>(op))
      shardings.push_back(constraint.getSharding());
    op->erase();
    if (op == exit)
      break;
  }
  for (ShardingAttr sharding : llvm::reverse(shardings))
    result = c.make<ConstraintOp>(result, sharding);
  return result;
}

static MicrobatchesAttr nextLoop(Conversion &c, int64_t count) {
  MLIRContext *context = c.builder.getContext();
  auto name = StringAttr::get(
      context, "loop" + std::to_string(c.getImporter().countLoop()));
  return MicrobatchesAttr::get(context, name, count);
}

bool weft::stablehlo::mayBeMicrobatches(const LoopIteration &first,
                                        const LoopIteration &second) {
  return IterationComparison(first, second, 1, std::nullopt)
      .run([&](unsigned i) {
        return getConstant(first.given[i]) && getConstant(first.results[i]) &&
               getConstant(second.results[i]);
      });
}

/// Whether what was read is all that there is: slices and stacks are those that
/// the counters decide, and nothing reads a stack that is not whole.
static bool isAllRead(const IterationComparison &comparison,
                      const LoopCounters &counters) {
  if (comparison.slices.size() + comparison.stacks.size() !=
      counters.numIndexed())
    return false;
  for (auto [i, exit] : llvm::enumerate(comparison.exits))
    if (comparison.stacks.contains(exit) && !counters.hasOneUse(i))
      return false;
  return true;
}

std::optional<Values>
weft::stablehlo::formMicrobatches(Conversion &c,
                                  ArrayRef<LoopIteration> iterations,
                                  const LoopCounters *counters) {
  const LoopIteration &first = iterations.front();
  int64_t count = counters ? counters->count() : iterations.size();
  auto isCounter = [&](unsigned i) {
    return counters ? counters->contains(i)
                    : getConstant(first.given[i]) &&
                          llvm::all_of(iterations, [&](const auto &each) {
                            return getConstant(each.results[i]);
                          });
  };
  IterationComparison comparison(first, iterations[1], 1, count);
  if (!comparison.run(isCounter) ||
      (counters && !isAllRead(comparison, *counters)))
    return std::nullopt;
  for (int64_t number = 2; number < static_cast<int64_t>(iterations.size());
       ++number) {
    IterationComparison other(first, iterations[number], number, count);
    if (!other.run(isCounter) || !comparison.hasSame(other))
      return std::nullopt;
  }
  Values last = iterations.back().results;
  for (const LoopIteration &each : llvm::reverse(iterations.drop_front()))
    for (Operation *op : llvm::reverse(each.ops))
      if (op->use_empty()) // a condition may have read it in vain
        op->erase();
  MicrobatchesAttr loop = nextLoop(c, count);
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
  for (auto [given, exit] : llvm::zip_equal(first.given, comparison.exits)) {
    unsigned i = results.size();
    Value result = given;
    if (isCounter(i))
      result = counters ? counters->last(i) : last[i];
    if (auto stack = comparison.stacks.find(exit);
        stack != comparison.stacks.end())
      result =
          stackOf(c, exit->getOperand(1), given.getType(), stack->second, loop);
    else if (exit)
      result = c.make<MicrobatchSumOp>(addendOf(exit, given), loop);
    if (exit)
      result = replaceExit(c, first.results[i], exit, result);
    results.push_back(result);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// A single one
//===----------------------------------------------------------------------===//

/// Whether a value has one element along its first dimension.
static bool isStackOfOne(Value value) {
  RankedTensorType type = typeOf(value);
  return type.getRank() > 0 && type.getDimSize(0) == 1;
}

/// The only elements of stacks that the iteration takes.
static SmallVector<ReshapeOp> findOnlyParts(const LoopIteration &only) {
  SmallVector<ReshapeOp> parts;
  for (Operation *op : only.ops)
    if (auto part = dyn_cast<ReshapeOp>(op))
      if (Value stack = part.getOperand();
          llvm::is_contained(only.given, stack) && isStackOfOne(stack) &&
          typeOf(stack).getShape().drop_front() == part.getType().getShape())
        parts.push_back(part);
  return parts;
}

std::optional<Values>
weft::stablehlo::formSingleMicrobatch(Conversion &c,
                                      const LoopIteration &only) {
  SmallVector<ReshapeOp> parts = findOnlyParts(only);
  llvm::SmallPtrSet<Operation *, 8> sums;
  for (auto [given, result] : llvm::zip_equal(only.given, only.results)) {
    if (!given || !result)
      return std::nullopt;
    if (isSame(given, result) ||
        (getSplatInteger(given) && getSplatInteger(result)))
      continue;
    Operation *op = withoutConstraints(result).getDefiningOp();
    bool adds = addsToZero(op, given) && isHandedOnOnly(only, op, result);
    // One may be given twice.
    bool isSum = adds && sums.insert(op).second;
    if (!isSum && !(isStackOfOne(result) && isZero(given) && given.use_empty()))
      return std::nullopt;
  }
  if (sums.empty() || parts.empty())
    return std::nullopt;
  MicrobatchesAttr loop = nextLoop(c, 1);
  for (ReshapeOp part : parts) {
    OpBuilder::InsertionGuard guard(c.builder);
    c.builder.setInsertionPoint(part);
    part.replaceAllUsesWith(
        MicrobatchSliceOp::create(c.builder, part.getLoc(), part.getType(),
                                  part.getOperand(), 0, loop)
            .getResult());
    part.erase();
  }
  Values results;
  for (auto [given, result] : llvm::zip_equal(only.given, only.results)) {
    Operation *op = withoutConstraints(result).getDefiningOp();
    bool isKept = isSame(given, result) || getSplatInteger(result);
    if (isKept)
      results.push_back(result);
    else if (addsToZero(op, given))
      results.push_back(replaceExit(
          c, result, op, c.make<MicrobatchSumOp>(addendOf(op, given), loop)));
    else
      results.push_back(stackOf(c, result, result.getType(), 0, loop));
  }
  return results;
}
