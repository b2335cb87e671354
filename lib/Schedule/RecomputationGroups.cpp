//===- RecomputationGroups.cpp - Which kernels recompute ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecomputationPlanner.h"

using namespace mlir;
using namespace weft;
using optimize::Availability;

/// Lets `user` have its operand from a group, which recomputes it.
void RecomputationPlanner::addUse(RecomputationGroup &group, unsigned user,
                                  unsigned value) {
  group.uses[user].insert(value);
  SmallVector<unsigned> pending{value};
  while (!pending.empty()) {
    unsigned number = pending.pop_back_val();
    if (availability[number] != Availability::Recomputed) {
      group.leaves.insert(number);
      continue;
    }
    if (group.values.insert(number).second)
      pending.append(operands[number].begin(), operands[number].end());
  }
}

/// Whose kernel can write what a GEMM reads at little cost: it reads the
/// largest of what that is recomputed from, at the level of the GEMM or the
/// next one. In that case the GEMM waits for another one of its level, which
/// must not wait for it in turn.
std::optional<RecomputationPlanner::Key>
RecomputationPlanner::findCompany(unsigned user,
                                  const RecomputationGroup &alone) {
  std::optional<unsigned> largest;
  for (unsigned leaf : alone.leaves)
    if (!largest || nodes[leaf].bytes > nodes[*largest].bytes)
      largest = leaf;
  auto found = largest ? readers.find(*largest) : readers.end();
  if (found == readers.end())
    return std::nullopt;
  const std::set<Key> &keys = found->second;
  for (auto key = keys.lower_bound({levels[user], 0});
       key != keys.end() && key->first <= levels[user] + 1; ++key) {
    if (key->first == levels[user])
      return *key;
    const auto source = static_cast<unsigned>(key->second);
    if (source == user || delayed.contains(source) || waitedFor.contains(user))
      continue;
    delayed.insert(user);
    waitedFor.insert(source);
    return *key;
  }
  return std::nullopt;
}

/// The kernel that writes the same for a GEMM a little earlier, if there is
/// one: what it has written is kept until then.
RecomputationGroup *
RecomputationPlanner::findWriter(RecomputationPlan &plan, unsigned user,
                                 const RecomputationGroup &alone) const {
  constexpr unsigned fewLevels = 4;
  constexpr size_t fewGroups = 16;
  MutableArrayRef<RecomputationGroup> groups = plan.groups;
  for (RecomputationGroup &group :
       groups.take_back(std::min(groups.size(), fewGroups)))
    if (group.values == alone.values && group.level <= levels[user] &&
        group.level + fewLevels >= levels[user])
      return &group;
  return nullptr;
}

RecomputationPlan RecomputationPlanner::formGroups() {
  std::map<Key, RecomputationGroup> groups;
  readers.clear();
  delayed.clear();
  waitedFor.clear();
  auto groupOf = [&](Key key) -> RecomputationGroup & {
    auto [found, isNew] = groups.try_emplace(key);
    if (isNew) {
      found->second.level = key.first;
      found->second.source = unsigned(key.second);
    }
    return found->second;
  };
  for (unsigned user = 0; user < nodes.size(); ++user) {
    if (isEarly(user) || isBarrier(user) || isAlias(user) || sources[user] < 0)
      continue;
    Key key{levels[user], sources[user]};
    for (unsigned value : operands[user]) {
      if (!isEarly(value))
        continue;
      readers[value].insert(key);
      if (availability[value] != Availability::Recomputed)
        continue;
      RecomputationGroup &group = groupOf(key);
      addUse(group, user, value);
      for (unsigned leaf : group.leaves)
        readers[leaf].insert(key);
    }
  }
  RecomputationPlan plan;
  for (unsigned user = 0; user < nodes.size(); ++user) {
    if (isEarly(user) || nodes[user].kind != FusionKind::Barrier)
      continue;
    RecomputationGroup alone;
    for (unsigned value : operands[user])
      if (availability[value] == Availability::Recomputed)
        addUse(alone, user, value);
    if (alone.values.empty())
      continue;
    if (std::optional<Key> company = findCompany(user, alone)) {
      RecomputationGroup &group = groupOf(*company);
      for (unsigned value : alone.uses[user])
        addUse(group, user, value);
      continue;
    }
    if (RecomputationGroup *earlier = findWriter(plan, user, alone)) {
      earlier->uses[user] = alone.uses[user];
      continue;
    }
    alone.level = levels[user];
    if (sources[user] >= 0)
      alone.source = unsigned(sources[user]);
    alone.isAlone = true;
    plan.groups.push_back(std::move(alone));
  }
  for (auto &[key, group] : groups)
    plan.groups.push_back(std::move(group));
  return plan;
}
