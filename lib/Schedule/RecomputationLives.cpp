//===- RecomputationLives.cpp - What is alive when ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecomputationPlanner.h"

#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

void RecomputationPlanner::findUses() {
  levels = computeFusionLevels(nodes);
  operands.resize(nodes.size());
  users.resize(nodes.size());
  for (unsigned number = 0; number < nodes.size(); ++number) {
    Operation *op = graph.ops[number];
    SmallVector<unsigned, 2> &own = operands[number];
    if (isa<BarrierOp>(op)) {
      auto found = graph.numbers.find(op->getOperand(0).getDefiningOp());
      if (found != graph.numbers.end())
        own.push_back(found->second);
    } else {
      own.assign(nodes[number].operands.begin(), nodes[number].operands.end());
      llvm::sort(own);
      own.erase(llvm::unique(own), own.end());
    }
    for (unsigned operand : own)
      users[operand].push_back(number);
  }
}

void RecomputationPlanner::findSources() {
  sources.assign(nodes.size(), -1);
  for (unsigned number = 0; number < nodes.size(); ++number)
    for (unsigned operand : nodes[number].operands) {
      int found = -1;
      if (isBarrier(operand) && levels[operand] + 1 == levels[number])
        found = int(operand);
      else if (!isBarrier(operand) && levels[operand] == levels[number])
        found = sources[operand];
      sources[number] = std::max(sources[number], found);
    }
}

bool RecomputationPlanner::isReturned(unsigned number) const {
  return llvm::any_of(users[number], [&](unsigned user) {
    return nodes[user].kind == FusionKind::End;
  });
}

/// What a group writes for GEMMs, and the level of the last.
std::map<unsigned, unsigned>
RecomputationPlanner::findWritten(const RecomputationGroup &group) const {
  std::map<unsigned, unsigned> written;
  for (const auto &[user, values] : group.uses)
    if (isBarrier(user))
      for (unsigned value : values) {
        unsigned &last = written[value];
        last = std::max(last, levels[user]);
      }
  return written;
}

/// The bytes alive between each level and the next, with what a plan leaves.
std::vector<int64_t>
RecomputationPlanner::countAlive(const RecomputationPlan &plan) const {
  std::set<std::pair<unsigned, unsigned>> redirected;
  for (const RecomputationGroup &group : plan.groups)
    for (const auto &[user, values] : group.uses)
      for (unsigned value : values)
        redirected.insert({user, value});
  std::vector<char> isDead(nodes.size());
  for (unsigned number = nodes.size(); number-- > 0;)
    isDead[number] = isRecomputable(number) &&
                     llvm::all_of(users[number], [&](unsigned user) {
                       return isDead[user] || redirected.count({user, number});
                     });
  std::vector<int> roots(nodes.size());
  std::vector<Life> lives(nodes.size());
  auto use = [&](unsigned value, unsigned level, bool stores) {
    if (roots[value] < 0)
      return;
    Life &life = lives[roots[value]];
    life.last = std::max(life.last, level);
    life.isStored |= stores || level != life.birth;
  };
  unsigned end = 0;
  for (unsigned number = 0; number < nodes.size(); ++number) {
    roots[number] = int(number);
    if (isAlias(number))
      roots[number] =
          operands[number].empty() ? -1 : roots[operands[number][0]];
    lives[number] = {levels[number], levels[number], isBarrier(number)};
    if (nodes[number].kind == FusionKind::End)
      continue;
    end = std::max(end, levels[number]);
    if (!isAlias(number) && !isDead[number])
      for (unsigned operand : operands[number])
        if (!redirected.count({number, operand}))
          use(operand, levels[number], isBarrier(number));
  }
  for (const RecomputationGroup &group : plan.groups)
    for (unsigned leaf : group.leaves)
      use(leaf, group.level, true);
  std::vector<int64_t> change(end + 2);
  for (const RecomputationGroup &group : plan.groups)
    for (const auto &[value, last] : findWritten(group)) {
      change[group.level] += nodes[value].bytes;
      change[std::max(last, group.level)] -= nodes[value].bytes;
    }
  for (unsigned number = 0; number < nodes.size(); ++number) {
    Life life = lives[number];
    if (roots[number] != int(number) || !life.isStored)
      continue;
    // What is gathered comes when it is needed.
    if (nodes[number].isCollective && !users[number].empty()) {
      unsigned first = life.last;
      for (unsigned user : users[number])
        first = std::min(first, levels[user]);
      life.birth = std::max(life.birth, first ? first - 1 : 0);
    }
    change[life.birth] += nodes[number].bytes;
    change[std::max(life.last, life.birth)] -= nodes[number].bytes;
  }
  for (size_t level = 1; level < change.size(); ++level)
    change[level] += change[level - 1];
  return change;
}

void RecomputationPlanner::measure() {
  std::vector<int64_t> alive = countAlive({});
  border = llvm::max_element(alive) - alive.begin();
  peak = alive[border];
  isOfFirstHalf.resize(nodes.size());
  std::vector<unsigned> earliest(nodes.size());
  for (unsigned number = 0; number < nodes.size(); ++number) {
    bool areEarly = true;
    for (unsigned operand : nodes[number].operands) {
      earliest[number] =
          std::max(earliest[number], earliest[operand] + isBarrier(operand));
      areEarly &= isOfFirstHalf[operand] != 0;
    }
    isOfFirstHalf[number] =
        levels[number] <= border ||
        (areEarly && earliest[number] <= border && isRecomputable(number));
  }
}
