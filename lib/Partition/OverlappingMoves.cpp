//===- OverlappingMoves.cpp - Moves that the rest of a step hides ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardingNetwork.h"

#include "weft/IR/ValueSharding.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace weft;

using Id = ReshardPrices::Id;

/// What is moved of arguments and to results has the rest of the step to
/// overlap with: it can be sent earlier, or waited for later.
static constexpr double overlappedShare = 0.5;

/// Whether axes are given up, and others split what is whole: the move is a
/// gather, of a part.
static bool isGather(const sharding::Sharding &from,
                     const sharding::Sharding &to) {
  if (!from.unreduced.empty() || !to.unreduced.empty())
    return false;
  sharding::Sharding sliced = from;
  for (auto [dim, held, wanted] :
       llvm::zip_equal(sliced.dims, from.dims, to.dims)) {
    if (wanted.axes.size() <= held.axes.size())
      continue;
    for (const sharding::AxisRef &axis :
         llvm::ArrayRef(wanted.axes).drop_front(held.axes.size()))
      if (from.mentions(axis))
        return false;
    dim.axes = wanted.axes;
  }
  return isPartOf(sliced, from) && isPartOf(sliced, to);
}

/// The moves of a value that overlap with the whole step: parameters can be
/// gathered before they are needed, and gradients reduced while the rest is
/// computed. Where propagation moves them so, or needs more: it is no reason to
/// move a parameter instead of what it is multiplied by.
ArrayRef<Id> ShardingNetwork::overlappingNeeds(Value value) const {
  Value root = rootOf(value);
  Operation *op = root.getDefiningOp();
  auto needs = usualNeeds.find(root);
  if (needs == usualNeeds.end() ||
      (op && !early.contains(op) && !late.contains(op)))
    return {};
  return needs->second.needs.getArrayRef();
}

/// Whether the move is one of these. What a constraint is on is moved itself.
bool ShardingNetwork::overlaps(Value value, Id from, Id to) const {
  Operation *op = rootOf(value).getDefiningOp();
  const sharding::Sharding &held = prices.get(from), &wanted = prices.get(to);
  bool isEarly = held.unreduced.empty() && (!op || early.contains(op));
  bool isLate = !held.unreduced.empty() && op && late.contains(op);
  return (isEarly || isLate) &&
         llvm::any_of(overlappingNeeds(value), [&](Id need) {
           return isPartOf(wanted, prices.get(need)) &&
                  (isLate || isGather(held, prices.get(need)));
         });
}

/// How often the value is moved in a step, and the share of that time that
/// counts.
double ShardingNetwork::weightOf(Value value, Id from, Id to) const {
  return runsOf(rootOf(value).getDefiningOp()) *
         (overlaps(value, from, to) ? overlappedShare : 1);
}

bool ShardingNetwork::isElementwise(Operation *op) const {
  const sharding::ShardingRule *rule = reach.findRule(op);
  return isMarker(op) || isa<MicrobatchSumOp>(op) ||
         (rule && rule->category == sharding::OpCategory::Elementwise);
}

/// Finds the ops that are made of arguments only, element by element: casts of
/// parameters, and their elements in another order. And those that only results
/// are made of without a matmul: updates of parameters, the norm of all
/// gradients, and what these are made of; but not what the last matmul makes,
/// or what is made of that or behind it: nothing overlaps with these sums,
/// unless they are at the start already.
void ShardingNetwork::findEarlyAndLate(Block &block, const OpChoices &start) {
  for (Operation &op : block.without_terminator())
    if ((isElementwise(&op) || isa<RearrangeOp>(op)) &&
        llvm::all_of(op.getOperands(), [&](Value value) {
          Operation *source = value.getDefiningOp();
          return !source || early.contains(source) ||
                 source->hasTrait<OpTrait::ConstantLike>();
        }))
      early.insert(&op);
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (!op.use_empty() && llvm::all_of(op.getUsers(), [&](Operation *user) {
          return isa<func::ReturnOp>(user) ||
                 (late.contains(user) && !contracts(user));
        }))
      late.insert(&op);
  auto isPartial = [&](Id id) { return !prices.get(id).unreduced.empty(); };
  llvm::SmallPtrSet<Operation *, 16> behind;
  for (Operation &op : block.without_terminator()) {
    if (contracts(&op))
      behind.clear();
    // What is made of earlier values, element by element, can be as early.
    else if (isElementwise(&op) &&
             llvm::none_of(op.getOperands(), [&](Value value) {
               return behind.contains(value.getDefiningOp());
             }))
      continue;
    behind.insert(&op);
  }
  for (Operation *op : behind) {
    auto choice = start.find(op);
    if (choice == start.end() ||
        llvm::none_of(choice->second.results, isPartial))
      late.erase(op);
  }
}

void ShardingNetwork::findUpdates(Block &block) {
  llvm::StringSet<> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    arguments.insert(getArgumentName(function, i));
  auto isForState = [&](OpOperand &use) {
    return isa<func::ReturnOp>(use.getOwner())
               ? arguments.contains(
                     getResultName(function, use.getOperandNumber()))
               : updates.contains(use.getOwner()) && !contracts(use.getOwner());
  };
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (!op.use_empty() && llvm::all_of(op.getUses(), isForState))
      updates.insert(&op);
}
