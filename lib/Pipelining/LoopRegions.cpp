//===- LoopRegions.cpp - A differentiated loop as a chain -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardDelay.h"
#include "Stages.h"

#include "weft/IR/ChainCuts.h"
#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace weft;

bool weft::isGradientSum(Operation *op) {
  return !gradientOf(getOrigin(op)).empty() ||
         !gradientOf(getValueOrigin(op->getOperand(0))).empty();
}

/// What all micro-batches of the loops use: values from before them.
static llvm::SetVector<Value> findUsed(Block &block) {
  Microbatches microbatches(block);
  llvm::SetVector<Value> used;
  for (Operation &op : block) {
    if (!microbatches.loopOf(&op) || isa<MicrobatchSliceOp>(op))
      continue;
    for (Value operand : op.getOperands())
      if (Operation *definer = operand.getDefiningOp();
          !definer || !microbatches.loopOf(definer))
        used.insert(operand);
  }
  return used;
}

SmallVector<BlockArgument> weft::findParameters(func::FuncOp entry) {
  SmallVector<BlockArgument> parameters;
  for (BlockArgument argument : entry.getArguments())
    if (entry.getArgAttr(argument.getArgNumber(),
                         WeftDialect::kParameterAttrName))
      parameters.push_back(argument);
  if (!parameters.empty())
    return parameters;

  llvm::SetVector<Value> used = findUsed(entry.front());
  for (auto sum : entry.getOps<MicrobatchSumOp>())
    if (sum.getType().getRank() > 0 &&
        llvm::is_contained(ValueRange(used.getArrayRef()).getTypes(),
                           sum.getType()))
      return {};
  // What they are computed from.
  for (size_t i = 0; i < used.size(); ++i)
    if (Operation *definer = used[i].getDefiningOp())
      used.insert_range(definer->getOperands());
  for (BlockArgument argument : entry.getArguments())
    if (used.contains(argument) &&
        isa<FloatType>(typeOf(argument).getElementType()))
      parameters.push_back(argument);
  return parameters;
}

LoopRegions::LoopRegions(func::FuncOp entry)
    : block(entry.front()), microbatches(block) {
  active.insert_range(findParameters(entry));
  findForward();
  findActive();
  cutForward();
  placeBackward();
  BackwardDelay(*this, entry).run();
  dropCuts();
}

std::optional<int64_t> LoopRegions::of(Operation *op) const {
  auto found = regions.find(op);
  return found == regions.end() ? std::nullopt
                                : std::optional<int64_t>(found->second);
}

/// Begins and ends of the loop are where their values are.
static bool isBorder(Operation *op) { return bool(getBorder(op)); }

void LoopRegions::findForward() {
  for (Operation &op : llvm::reverse(block)) {
    if (!microbatches.loopOf(&op))
      continue;
    bool isNeeded = llvm::any_of(
        op.getUsers(), [&](Operation *user) { return forward.contains(user); });
    if (isNeeded || (leavesMicrobatches(&op) && !isGradientSum(&op)))
      forward.insert(&op);
  }
}

void LoopRegions::findActive() {
  auto isFrom = [](Operation *op, const llvm::DenseSet<Value> &values) {
    return llvm::any_of(computedFrom(op), [&](Value operand) {
      return values.contains(operand);
    });
  };
  for (Operation &op : block)
    if (isFrom(&op, active))
      active.insert(op.result_begin(), op.result_end());
    else if (forward.contains(&op) &&
             (isa<ProductOpInterface>(op) || isFrom(&op, frozen)))
      frozen.insert(op.result_begin(), op.result_end());
}

bool LoopRegions::isSent(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && regions.contains(op) && !isOfOneArgument(value) &&
         (active.contains(value) || frozen.contains(value));
}

/// What single ops make a value of: the argument, or a slice of it, as of
/// parameters that layers have in one. Null for others.
Value LoopRegions::parameterOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return value;
  ValueRange operands = computedFrom(op);
  if (operands.size() != 1)
    return {};
  Value of = parameterOf(operands.front());
  if (!of || !isa<SliceOp>(op))
    return of;
  // Both ways have a slice of their own.
  return slices.try_emplace({of, op->getAttrDictionary()}, value).first->second;
}

void LoopRegions::cutForward() {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    if (forward.contains(&op) && !isBorder(&op))
      ops.push_back(&op);
  std::vector<size_t> cuts =
      cutChain(ops, [&](Value value) { return active.contains(value); });
  count = cuts.size() + 1;
  auto next = cuts.begin();
  int64_t region = 0;
  llvm::DenseMap<Value, std::pair<int64_t, int64_t>> uses;
  for (auto [position, op] : llvm::enumerate(ops)) {
    if (next != cuts.end() && *next == position) {
      ++next;
      ++region;
    }
    regions[op] = region;
    for (Value operand : computedFrom(op)) {
      Value of = parameterOf(operand);
      auto &[first, last] =
          uses.try_emplace(of ? of : operand, region, region).first->second;
      last = region;
    }
  }
  for (const auto &[value, range] : uses) {
    if (range.first != range.second)
      shared[value] = range.first;
    if (!parameterOf(value) || range.first == range.second)
      lastUse[value] = range.second;
  }
}

/// The last region that has a value; the last of all for what all have.
int64_t LoopRegions::lastRegionOf(Value value) {
  Value parameter = parameterOf(value);
  if (!active.contains(value) || (parameter && !lastUse.contains(parameter)))
    return count - 1;
  if (parameter)
    return lastUse.lookup(parameter);
  auto made = regions.find(value.getDefiningOp());
  if (made == regions.end())
    return count - 1;
  if (!forward.contains(value.getDefiningOp()))
    return made->second;
  return std::max(made->second, lastUse.lookup(value));
}

void LoopRegions::placeBackward() {
  for (Operation &op : block) {
    if (!microbatches.loopOf(&op) || forward.contains(&op) || isBorder(&op))
      continue;
    if (!active.contains(op.getResult(0)) || isOfOneArgument(op.getResult(0)))
      continue;
    int64_t region = count - 1;
    for (Value operand : computedFrom(&op))
      region = std::min(region, lastRegionOf(operand));
    regions[&op] = region;
  }
}

//===----------------------------------------------------------------------===//
// Cuts that the way back does not have
//===----------------------------------------------------------------------===//

bool LoopRegions::isAddedUp(Operation *op) const {
  if (!isa<arith::AddFOp, ReshapeOp, TransposeOp, ConstraintOp>(op))
    return false;
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return leavesMicrobatches(user) || isAddedUp(user);
  });
}

/// By cut, the types of what goes forward.
std::vector<llvm::DenseSet<Type>> LoopRegions::typesSentForward() const {
  std::vector<llvm::DenseSet<Type>> types(count);
  for (const auto &[op, region] : regions)
    for (Value operand : computedFrom(op))
      if (isSent(operand) && forward.contains(operand.getDefiningOp()))
        for (int64_t cut = regions.lookup(operand.getDefiningOp()) + 1;
             cut <= region; ++cut)
          types[cut].insert(operand.getType());
  return types;
}

/// A cotangent has the type of what went forward there, and what an op of the
/// way back takes of the forward pass is made in its region or before.
void LoopRegions::dropCuts() {
  std::vector<bool> isCut(count, true);
  const std::vector<llvm::DenseSet<Type>> types = typesSentForward();
  for (const auto &[op, region] : regions)
    for (Value operand : computedFrom(op)) {
      if (!isSent(operand))
        continue;
      Operation *definer = operand.getDefiningOp();
      for (int64_t cut = region + 1; cut <= regions.lookup(definer); ++cut)
        if (forward.contains(definer) ||
            (!isAddedUp(op) && !types[cut].contains(operand.getType())))
          isCut[cut] = false;
    }
  joinRegions(isCut);
}

void LoopRegions::joinRegions(const std::vector<bool> &isCut) {
  SmallVector<int64_t> numbers;
  int64_t number = -1;
  // The first region begins without a cut.
  for (int64_t region = 0; region < count; ++region)
    numbers.push_back(number += region == 0 || isCut[region]);
  for (auto &[op, region] : regions)
    region = numbers[region];
  count = number + 1;
}
