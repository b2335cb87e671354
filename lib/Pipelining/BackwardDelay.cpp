//===- BackwardDelay.cpp - What goes back from region to region -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardDelay.h"

#include "Stages.h"

#include "weft/IR/Origin.h"
#include "weft/IR/ValueSharding.h"

#include <limits>

using namespace mlir;
using namespace weft;

/// Of what is to stay where it is.
static constexpr int64_t never = std::numeric_limits<int64_t>::max();

BackwardDelay::BackwardDelay(LoopRegions &loop, func::FuncOp entry)
    : loop(loop), types(loop.typesSentForward()), opsOf(loop.count) {
  for (BlockArgument argument : entry.getArguments())
    arguments.try_emplace(getArgumentName(entry, argument.getArgNumber()),
                          argument);
  for (Operation &op : loop.block) {
    if (isBack(&op)) {
      ops.push_back(&op);
      opsOf[loop.regions.lookup(&op)].push_back(&op);
    }
    if (!getBorder(&op) && llvm::all_of(op.getOperands(), [&](Value operand) {
          return constants.contains(operand.getDefiningOp());
        }))
      constants.insert(&op);
  }
}

/// The first region that has a value on the way back.
int64_t BackwardDelay::firstRegionWith(Value value) {
  Operation *op = value.getDefiningOp();
  if (constants.contains(op))
    return 0;
  if (op && isBack(op))
    return made.lookup(op);
  if (loop.isSent(value))
    return loop.regions.lookup(op);
  Value of = loop.parameterOf(value);
  if (Value key = of ? of : value;
      loop.lastUse.contains(key) && !loop.shared.contains(key))
    return loop.lastUse.lookup(key);
  return loop.active.contains(value) ? never : 0;
}

/// The same for what takes no cotangent: that is computed anew, from a
/// parameter that several regions have by each of them.
int64_t BackwardDelay::firstRegionForRecomputed(Value value) {
  auto found = loop.shared.find(loop.parameterOf(value));
  return found == loop.shared.end() ? firstRegionWith(value) : found->second;
}

/// Where the parameter is that an op makes a gradient of; 0 for none.
int64_t BackwardDelay::regionOfGradient(Operation *op) const {
  StringRef name = gradientOf(getOrigin(op));
  if (name.empty())
    return leavesMicrobatches(op) ? never : 0;
  BlockArgument argument = arguments.lookup(name);
  auto found = loop.lastUse.find(argument);
  return argument && found != loop.lastUse.end() ? found->second : never;
}

void BackwardDelay::findMade() {
  for (Operation *op : ops) {
    int64_t first = 0;
    bool takesCotangent = false;
    for (Value operand : computedFrom(op)) {
      Operation *definer = operand.getDefiningOp();
      takesCotangent |= definer && isBack(definer) && !made.contains(definer);
      first = std::max(first, firstRegionForRecomputed(operand));
    }
    if (!takesCotangent && first < loop.regions.lookup(op))
      made[op] = first;
  }
}

void BackwardDelay::findLeast() {
  for (Operation *op : llvm::reverse(ops)) {
    int64_t first = regionOfGradient(op);
    for (Value operand : computedFrom(op))
      first = std::max(first, firstRegionWith(operand));
    for (Operation *user : op->getUsers())
      first =
          std::max(first, isBack(user)               ? least.lookup(user)
                          : leavesMicrobatches(user) ? regionOfGradient(user)
                                                     : 0);
    least[op] = std::min(first, loop.regions.lookup(op));
  }
}

/// Whether a user takes a value before the cut, on the way back behind it.
bool BackwardDelay::isBelow(Operation *user, int64_t cut) const {
  return isBack(user) && !loop.isAddedUp(user) &&
         (moving.contains(user) || loop.regions.lookup(user) < cut);
}

int64_t BackwardDelay::countBelow(Operation *op, int64_t cut) const {
  return llvm::count_if(op->getUsers(),
                        [&](Operation *user) { return isBelow(user, cut); });
}

/// Moves what can be moved from the region behind a cut to the one before it,
/// but the first ops of them that have to stay for one value to go back.
void BackwardDelay::delay(int64_t cut) {
  auto isFree = [&](Operation *op) {
    auto found = made.find(op);
    return found != made.end() && found->second < cut;
  };
  SmallVector<Operation *> candidates, all(crossing.takeVector());
  llvm::append_range(all, opsOf[cut]);
  moving.clear();
  for (Operation *op : opsOf[cut])
    if (!isFree(op) && least.lookup(op) < cut && !loop.isAddedUp(op)) {
      candidates.push_back(op);
      moving.insert(op);
    }
  llvm::DenseMap<Operation *, int64_t> below;
  for (Operation *op : all) {
    below[op] = countBelow(op, cut);
    if (below[op] > 0 && !moving.contains(op) && !isFree(op))
      crossing.insert(op);
  }
  auto isSingle = [&] {
    return crossing.size() == 1 &&
           types[cut].contains(crossing.front()->getResult(0).getType());
  };
  auto next = candidates.begin();
  for (; next != candidates.end() && !isSingle(); ++next) {
    moving.erase(*next);
    if (below[*next] > 0)
      crossing.insert(*next);
    for (Value operand : (*next)->getOperands())
      if (Operation *definer = operand.getDefiningOp();
          definer && below.contains(definer) && --below[definer] == 0)
        crossing.remove(definer);
  }
  for (Operation *op : llvm::make_range(next, candidates.end())) {
    loop.regions[op] = cut - 1;
    opsOf[cut - 1].push_back(op);
  }
  llvm::sort(opsOf[cut - 1],
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
}

/// What takes no cotangent is where it is used first on the way forward.
void BackwardDelay::placeOfForward() {
  for (Operation *op : llvm::reverse(ops)) {
    auto found = made.find(op);
    if (found == made.end())
      continue;
    int64_t first = loop.regions.lookup(op);
    for (Operation *user : op->getUsers())
      if (isBack(user))
        first = std::min(first, loop.regions.lookup(user));
    loop.regions[op] = std::max(first, found->second);
  }
}

void BackwardDelay::run() {
  findMade();
  findLeast();
  for (int64_t cut = loop.count - 1; cut > 0; --cut)
    delay(cut);
  placeOfForward();
}
