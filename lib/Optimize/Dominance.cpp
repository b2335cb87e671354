//===- Dominance.cpp - Values that no assignment needs --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elimination.h"

#include <algorithm>
#include <array>

using namespace weft::optimize;

/// How much more one value may cost than another: what is forbidden stays so.
static Cost addExcess(Cost excess, Cost more) {
  return excess >= forbidden ? excess : std::min(excess + more, forbidden);
}

/// The values of which none is at least as good whatever the neighbours have
/// (Goldstein's criterion); of equal ones the first. Each other value is
/// replaced by one that is at least as good. Most pairs are told apart by a few
/// settings of the neighbours.
Elimination::Selection Elimination::undominated(Variable variable,
                                                const Bucket &bucket) const {
  constexpr size_t numSettings = 8;
  const size_t size = sizes[variable];
  struct Rows {
    std::vector<Cost> costs;
    size_t width;
    const Cost *of(size_t value) const { return costs.data() + value * width; }
    /// Of a few settings of the neighbours, the first the incumbent's.
    std::array<size_t, numSettings> columns = {};
  };
  std::vector<Rows> all;
  for (int32_t number : bucket.factors) {
    const Factor &factor = factors[number];
    Rows &rows = all.emplace_back();
    rows.costs = rowsOf(factor, variable);
    rows.width = rows.costs.size() / size;
    for (size_t setting = 0; setting < numSettings; ++setting)
      for (Variable other : factor.scope)
        if (other != variable)
          rows.columns[setting] =
              rows.columns[setting] * sizes[other] +
              (incumbent[other] + setting * (1 + other)) % sizes[other];
  }
  // How much more v may cost than u, or more than 0 where it is.
  auto excess = [&](size_t u, size_t v) {
    for (size_t setting = 0; setting < numSettings; ++setting) {
      Cost least = 0;
      for (const Rows &rows : all)
        least = addExcess(least, rows.of(v)[rows.columns[setting]] -
                                     rows.of(u)[rows.columns[setting]]);
      if (least > 0)
        return least;
    }
    Cost excess = 0;
    for (const Rows &rows : all) {
      Cost most = -forbidden;
      for (size_t i = 0; i < rows.width; ++i)
        most = std::max(most, rows.of(v)[i] - rows.of(u)[i]);
      excess = addExcess(excess, most);
    }
    return excess;
  };
  // Whom a value is replaced by may be replaced in turn, but not by it.
  std::vector<size_t> betterThan(size);
  for (size_t u = 0; u < size; ++u) {
    betterThan[u] = u;
    for (size_t v = 0; v < size && betterThan[u] == u; ++v)
      if (u != v && excess(u, v) <= 0 && (v < u || excess(v, u) > 0))
        betterThan[u] = v;
  }
  Selection selection;
  selection.numbers.resize(size);
  for (size_t u = 0; u < size; ++u) {
    if (betterThan[u] != u)
      continue;
    selection.numbers[u] = static_cast<int32_t>(selection.values.size());
    selection.values.push_back(static_cast<int32_t>(u));
  }
  for (size_t u = 0; u < size; ++u) {
    size_t best = u;
    while (betterThan[best] != best)
      best = betterThan[best];
    selection.numbers[u] = selection.numbers[best];
  }
  return selection;
}

/// Whether there were any.
bool Elimination::removeDominated() {
  std::vector<bool> isOpen(sizes.size(), true), isSmaller(sizes.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (Variable variable = 0; variable < static_cast<Variable>(sizes.size());
         ++variable) {
      if (!isOpen[variable] || isEliminated[variable] || sizes[variable] == 1)
        continue;
      isOpen[variable] = false;
      Bucket bucket = bucketOf(variable);
      auto [entry, isNew] =
          undominatedOf.try_emplace(shapeOf(variable, bucket));
      if (isNew)
        entry->second = undominated(variable, bucket);
      if (entry->second.values.size() == sizes[variable])
        continue;
      keep(variable, entry->second);
      changed = isSmaller[variable] = true;
      for (Variable neighbour : bucket.neighbours)
        isOpen[neighbour] = true;
    }
  }
  for (Variable variable = 0; variable < static_cast<Variable>(sizes.size());
       ++variable)
    if (isSmaller[variable])
      enqueueAround(variable);
  return std::find(isSmaller.begin(), isSmaller.end(), true) != isSmaller.end();
}
