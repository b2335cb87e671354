//===- FusionLevels.cpp - When ops that share a kernel can run ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionGraph.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace llvm;
using namespace weft;

std::vector<std::vector<unsigned>> weft::collectUsers(ArrayRef<FusionOp> ops) {
  std::vector<std::vector<unsigned>> users(ops.size());
  for (auto [number, op] : enumerate(ops))
    for (unsigned operand : op.operands)
      if (users[operand].empty() || users[operand].back() != number)
        users[operand].push_back(number);
  return users;
}

/// How far the cost of delaying an op is looked for behind its operands.
static constexpr unsigned delayDepth = 8;

/// The bytes that stay alive until `level` if `number` is computed only then
/// and, where that is cheaper, what it alone is computed from.
static int64_t costOfDelay(ArrayRef<FusionOp> ops, unsigned number,
                           unsigned level, ArrayRef<unsigned> levels,
                           ArrayRef<std::vector<unsigned>> users,
                           unsigned depth = 0) {
  int64_t cost = 0;
  SmallVector<unsigned> distinct(ArrayRef<unsigned>(ops[number].operands));
  sort(distinct);
  distinct.erase(llvm::unique(distinct), distinct.end());
  for (unsigned operand : distinct) {
    auto isOther = [&](unsigned user) { return user != number; };
    bool neededAnyway = any_of(users[operand], [&](unsigned user) {
      return isOther(user) && levels[user] >= level;
    });
    if (neededAnyway)
      continue;
    int64_t alive = ops[operand].bytes;
    if (isComputed(ops[operand]) && depth < delayDepth &&
        none_of(users[operand], isOther))
      alive = std::min(
          alive, costOfDelay(ops, operand, level, levels, users, depth + 1));
    cost += alive;
  }
  return cost;
}

std::vector<unsigned> weft::computeFusionLevels(ArrayRef<FusionOp> ops) {
  auto users = collectUsers(ops);
  std::vector<unsigned> levels(ops.size());
  for (auto [number, op] : enumerate(ops))
    for (unsigned operand : op.operands)
      levels[number] =
          std::max(levels[number], levels[operand] + isBarrier(ops[operand]));
  for (unsigned number = ops.size(); number-- > 0;) {
    if (!isComputed(ops[number]))
      continue;
    unsigned latest = std::numeric_limits<unsigned>::max();
    for (unsigned user : users[number])
      latest =
          std::min(latest, ops[user].kind == FusionKind::End ? levels[number]
                                                             : levels[user]);
    if (!users[number].empty() && latest > levels[number] &&
        costOfDelay(ops, number, latest, levels, users) <= ops[number].bytes)
      levels[number] = latest;
  }
  return levels;
}
