//===- ReshardRelabel.cpp - Clashing sub-axes take each other's place -----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardRelabel.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <set>

using namespace weft;
using namespace weft::sharding;

using Digits = llvm::SmallVector<AxisRef, 8>;

/// The prime digits of `axis`, major to minor, such that the references of
/// `sharding` are whole digits.
static Digits primeDigits(const Mesh &mesh, const Sharding &sharding,
                          int32_t axis) {
  std::set<int64_t> cuts = {mesh.axisSize(axis)};
  auto cutAt = [&](const AxisRef &ref) {
    if (ref.axis == axis)
      cuts.insert({ref.pre, ref.next()});
  };
  for (const DimSharding &dim : sharding.dims)
    llvm::for_each(dim.axes, cutAt);
  llvm::for_each(sharding.unreduced, cutAt);
  Digits digits;
  int64_t pre = 1;
  for (int64_t cut : cuts)
    for (int64_t prime = 2; pre < cut; ++prime)
      for (; (cut / pre) % prime == 0; pre *= prime)
        digits.push_back({axis, pre, prime});
  return digits;
}

/// The source's digits of each size, in an order that changes from pairing to
/// pairing.
using DigitsBySize = std::map<int64_t, Digits>;

/// Steps to the next pairing; false after the last.
static bool advance(DigitsBySize &sources) {
  for (auto &[size, digits] : sources)
    if (std::next_permutation(digits.begin(), digits.end()))
      return true;
  return false;
}

/// All pairings of the digits of one axis.
static std::vector<Relabeling> pairDigits(llvm::ArrayRef<AxisRef> source,
                                          llvm::ArrayRef<AxisRef> target) {
  DigitsBySize sources;
  for (const AxisRef &digit : source)
    sources[digit.size].push_back(digit);
  std::vector<Relabeling> pairings;
  do {
    Relabeling &pairing = pairings.emplace_back();
    std::map<int64_t, size_t> used;
    for (const AxisRef &digit : target) {
      pairing.source.push_back(sources[digit.size][used[digit.size]++]);
      pairing.target.push_back(digit);
    }
  } while (pairings.size() < maxRelabelings && advance(sources));
  return pairings;
}

std::vector<Relabeling>
sharding::findRelabelings(const Mesh &mesh, const Sharding &from,
                          const Sharding &to, llvm::ArrayRef<int32_t> axes) {
  std::vector<Relabeling> all = {{}};
  for (int32_t axis : axes) {
    std::vector<Relabeling> longer;
    for (const Relabeling &pairing :
         pairDigits(primeDigits(mesh, from, axis), primeDigits(mesh, to, axis)))
      for (Relabeling joined : all) {
        joined.source.append(pairing.source);
        joined.target.append(pairing.target);
        longer.push_back(std::move(joined));
      }
    longer.resize(std::min(longer.size(), maxRelabelings));
    all = std::move(longer);
  }
  return all;
}

/// The digits of `old` that make up `ref`, major to minor, in their new
/// position.
static Digits replace(const AxisRef &ref, llvm::ArrayRef<AxisRef> old,
                      llvm::ArrayRef<AxisRef> by) {
  std::map<int64_t, AxisRef> byPre;
  for (auto [digit, replacement] : llvm::zip_equal(old, by))
    if (ref.contains(digit))
      byPre[digit.pre] = replacement;
  if (byPre.empty())
    return {ref};
  Digits digits;
  for (const auto &[pre, replacement] : byPre)
    digits.push_back(replacement);
  return digits;
}

Sharding sharding::relabel(const Sharding &sharding,
                           llvm::ArrayRef<AxisRef> old,
                           llvm::ArrayRef<AxisRef> by) {
  Sharding result = Sharding::closed(sharding.dims.size());
  for (auto [dim, before] : llvm::zip_equal(result.dims, sharding.dims))
    for (const AxisRef &ref : before.axes)
      for (const AxisRef &digit : replace(ref, old, by))
        appendMerging(dim.axes, digit);
  Digits unreduced;
  for (const AxisRef &ref : sharding.unreduced)
    unreduced.append(replace(ref, old, by));
  llvm::sort(unreduced);
  for (const AxisRef &digit : unreduced)
    appendMerging(result.unreduced, digit);
  result.unreducedKind = sharding.unreducedKind;
  return result;
}
