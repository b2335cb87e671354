//===- KernelCopies.cpp - Cheap ops that each kernel computes for itself --===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionGraph.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace weft;

/// Whether a kernel can compute what `user` reads as it can load it: `user`
/// reads each element once, or is all that walks the elements.
static bool canComputeFor(ArrayRef<FusionOp> ops, unsigned user, bool isOnly,
                          bool hasReduction) {
  switch (ops[user].kind) {
  case FusionKind::Elementwise:
  case FusionKind::Reduction:
    return true;
  case FusionKind::Movement:
  case FusionKind::Transpose:
  case FusionKind::ScatterAdd:
    return isOnly && !hasReduction;
  default:
    return false;
  }
}

/// The groups that would have to compute `number` for themselves; nothing if
/// one of its other users cannot.
static SmallVector<int> findCopiesOf(ArrayRef<FusionOp> ops, unsigned number,
                                     ArrayRef<unsigned> users,
                                     ArrayRef<int> group,
                                     ArrayRef<bool> hasReduction) {
  SmallVector<int> groups;
  for (unsigned user : users) {
    int other = group[user];
    if (other == group[number])
      continue;
    auto isThere = [&](unsigned user) { return group[user] == other; };
    if (other == -1 || !canComputeFor(ops, user, count_if(users, isThere) == 1,
                                      hasReduction[other]))
      return {};
    if (!is_contained(groups, other))
      groups.push_back(other);
  }
  return groups;
}

std::vector<KernelCopy> weft::findCheapCopies(ArrayRef<FusionOp> ops,
                                              ArrayRef<int> group) {
  auto users = collectUsers(ops);
  SmallVector<bool> hasReduction(ops.size());
  for (auto [number, op] : enumerate(ops))
    if (op.kind == FusionKind::Reduction && group[number] != -1)
      hasReduction[group[number]] = true;
  std::vector<KernelCopy> copies;
  for (auto [number, op] : enumerate(ops))
    if (op.isCheap && group[number] != -1)
      for (int other :
           findCopiesOf(ops, number, users[number], group, hasReduction))
        copies.push_back({unsigned(number), other});
  return copies;
}
