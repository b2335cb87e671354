//===- Dominance.cpp - Values that no assignment needs --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elimination.h"

#include <algorithm>

using namespace weft::optimize;

namespace {

/// Holds the sum of any number of costs.
__extension__ typedef __int128 CostSum;

/// The costs that a factor has for each value of a variable, by what its other
/// variables have: its columns.
class ComparedFactor {
public:
  /// `inner` columns of a value lie next to each other; `sampled` is the first
  /// that is compared.
  ComparedFactor(const std::vector<Cost> &table, size_t size, size_t inner,
                 size_t sampled)
      : table(table.data()), inner(inner), size(size),
        width(table.size() / size), numSamples(std::min<size_t>(width, 8)) {
    samples.reserve(size * numSamples);
    for (size_t value = 0; value < size; ++value)
      for (size_t i = 0; i < numSamples; ++i)
        samples.push_back(at(value, (sampled + i * (1 + width / 9)) % width));
  }

  /// How much more v costs than u in some of the columns, at most.
  Cost sampledMore(size_t u, size_t v) const {
    const Cost *ofU = samples.data() + u * numSamples;
    const Cost *ofV = samples.data() + v * numSamples;
    Cost most = ofV[0] - ofU[0];
    for (size_t i = 1; i < numSamples; ++i)
      most = std::max(most, ofV[i] - ofU[i]);
    return most;
  }

  /// In all columns, or anything above `enough` where that is more.
  Cost more(size_t u, size_t v, CostSum enough) const {
    if (numSamples == width)
      return sampledMore(u, v);
    Cost most = -forbidden;
    for (size_t column = 0; column < width && most <= enough;) {
      const Cost *ofU = &at(u, column), *ofV = &at(v, column);
      const size_t count = std::min<size_t>(inner - column % inner, 32);
      for (size_t i = 0; i < count; ++i)
        most = std::max(most, ofV[i] - ofU[i]);
      column += count;
    }
    return most;
  }

private:
  const Cost &at(size_t value, size_t column) const {
    return table[(column / inner * size + value) * inner + column % inner];
  }

  const Cost *table;
  size_t inner, size, width, numSamples;
  /// By value.
  std::vector<Cost> samples;
};

} // namespace

/// The values of which none is at least as good whatever the neighbours have
/// (Goldstein's criterion); of equal ones the first. Each other value is
/// replaced by one that is at least as good.
Elimination::Selection Elimination::undominated(Variable variable,
                                                const Bucket &bucket) const {
  const size_t size = sizes[variable];
  std::vector<ComparedFactor> compared;
  compared.reserve(bucket.factors.size());
  for (int32_t number : bucket.factors) {
    const Factor &factor = factors[number];
    // What all others have in the incumbent.
    size_t column = 0, inner = 1;
    for (Variable other : factor.scope) {
      if (other != variable)
        column = column * sizes[other] + incumbent[other];
      inner = other == variable ? 1 : inner * sizes[other];
    }
    compared.emplace_back(tables[factor.table], size, inner, column);
  }
  // Whether v costs more than u for some columns. Most pairs are told apart by
  // those that are sampled.
  auto mayCostMore = [&](size_t u, size_t v) {
    CostSum most = 0;
    for (const ComparedFactor &factor : compared)
      most += factor.sampledMore(u, v);
    for (size_t i = 0; i < compared.size() && most <= 0; ++i) {
      const Cost sampled = compared[i].sampledMore(u, v);
      most += compared[i].more(u, v, sampled - most) - sampled;
    }
    return most > 0;
  };
  // Whom a value is replaced by may be replaced in turn, but not by it.
  std::vector<size_t> betterThan(size);
  for (size_t u = 0; u < size; ++u) {
    betterThan[u] = u;
    for (size_t v = 0; v < size && betterThan[u] == u; ++v)
      if (u != v && !mayCostMore(u, v) && (v < u || mayCostMore(v, u)))
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
  std::vector<bool> isSmaller(sizes.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (Variable variable = 0; variable < static_cast<Variable>(sizes.size());
         ++variable) {
      if (!mayBeDominated[variable] || isEliminated[variable] ||
          sizes[variable] == 1)
        continue;
      mayBeDominated[variable] = false;
      Bucket bucket = bucketOf(variable);
      auto [entry, isNew] =
          known.undominatedOf.try_emplace(shapeOf(variable, bucket));
      if (isNew)
        entry->second = undominated(variable, bucket);
      if (entry->second.values.size() == sizes[variable])
        continue;
      keep(variable, entry->second);
      changed = isSmaller[variable] = true;
    }
  }
  for (Variable variable = 0; variable < static_cast<Variable>(sizes.size());
       ++variable)
    if (isSmaller[variable])
      enqueueAround(variable);
  return std::find(isSmaller.begin(), isSmaller.end(), true) != isSmaller.end();
}
