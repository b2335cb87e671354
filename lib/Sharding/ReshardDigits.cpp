//===- ReshardDigits.cpp - A reshard as placements of digits --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardDigits.h"

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <map>
#include <set>

using namespace weft;
using namespace weft::sharding;

//===----------------------------------------------------------------------===//
// DigitProblem
//===----------------------------------------------------------------------===//

DigitList sharding::digitsOf(uint32_t set) {
  DigitList list;
  for (uint8_t digit = 0; set != 0; ++digit, set >>= 1)
    if (set & 1)
      list.push_back(digit);
  return list;
}

uint32_t sharding::setOf(llvm::ArrayRef<uint8_t> list) {
  uint32_t set = 0;
  for (uint8_t digit : list)
    set |= 1u << digit;
  return set;
}

int64_t DigitProblem::product(llvm::ArrayRef<uint8_t> list) const {
  int64_t result = 1;
  for (uint8_t digit : list)
    result *= size(digit);
  return result;
}

int64_t DigitProblem::span(llvm::ArrayRef<uint8_t> list) const {
  int64_t result = 1;
  for (uint8_t digit : list)
    result = std::max(result, spans[digit]);
  return result;
}

uint32_t DigitProblem::withoutAlike(uint32_t set) const {
  uint32_t first = set & ~placeless;
  for (uint32_t rest = set & placeless; rest != 0;) {
    int digit = llvm::countr_zero(rest);
    first |= 1u << digit;
    rest &= ~alike[digit];
  }
  return first;
}

int64_t DigitProblem::product(uint32_t set) const {
  int64_t result = 1;
  for (; set != 0; set &= set - 1)
    result *= digits[llvm::countr_zero(set)].size;
  return result;
}

int64_t DigitProblem::localBytes(const DigitLayout &layout) const {
  return wholeBytes / product(splitting(layout));
}

uint32_t DigitProblem::splitting(const DigitLayout &layout) const {
  uint32_t set = 0;
  for (const DigitList &dim : layout.dims)
    set |= setOf(dim);
  return set;
}

uint32_t DigitProblem::replicated(const DigitLayout &layout) const {
  uint32_t all = (uint64_t(1) << digits.size()) - 1;
  return all & ~splitting(layout) & ~layout.unreduced;
}

AxisList DigitProblem::axes(llvm::ArrayRef<uint8_t> list) const {
  AxisList result;
  for (uint8_t digit : list)
    appendMerging(result, digits[digit]);
  return result;
}

AxisList DigitProblem::axes(uint32_t set) const { return axes(digitsOf(set)); }

Sharding DigitProblem::toSharding(const DigitLayout &layout,
                                  Reduction reduction) const {
  Sharding result = Sharding::closed(layout.dims.size());
  for (size_t d = 0; d < layout.dims.size(); ++d) {
    result.dims[d].axes = fixed[d];
    for (uint8_t digit : layout.dims[d])
      appendMerging(result.dims[d].axes, digits[digit]);
  }
  llvm::SmallVector<AxisRef, 8> unreduced(fixedUnreduced.begin(),
                                          fixedUnreduced.end());
  for (uint8_t digit : digitsOf(layout.unreduced))
    unreduced.push_back(digits[digit]);
  std::sort(unreduced.begin(), unreduced.end());
  for (const AxisRef &ref : unreduced)
    appendMerging(result.unreduced, ref);
  if (!result.unreduced.empty())
    result.unreducedKind = reduction;
  return result;
}

//===----------------------------------------------------------------------===//
// Cutting axes
//===----------------------------------------------------------------------===//

/// For each mesh axis mentioned, the positions where it is cut.
using Cuts = std::map<int32_t, std::set<int64_t>>;

template <typename Visit>
static void forEachAxis(const Sharding &sharding, Visit visit) {
  for (const DimSharding &dim : sharding.dims)
    for (const AxisRef &ref : dim.axes)
      visit(ref);
  for (const AxisRef &ref : sharding.unreduced)
    visit(ref);
}

static Cuts findCuts(const Sharding &from, const Sharding &to) {
  Cuts cuts;
  auto visit = [&](const AxisRef &ref) {
    cuts[ref.axis].insert(ref.pre);
    cuts[ref.axis].insert(ref.next());
  };
  forEachAxis(from, visit);
  forEachAxis(to, visit);
  return cuts;
}

llvm::SmallVector<int32_t, 2> sharding::findClashingAxes(const Sharding &from,
                                                         const Sharding &to) {
  llvm::SmallVector<int32_t, 2> clashing;
  for (const auto &[axis, positions] : findCuts(from, to)) {
    int64_t previous = 1;
    for (int64_t position : positions) {
      if (position % previous != 0) {
        clashing.push_back(axis);
        break;
      }
      previous = position;
    }
  }
  return clashing;
}

/// Cuts the axes of `lists` where their running product passes a running
/// product of `other`. Example: lists [a=8], other [b=2, c=2] -> a at 2 and 4.
static void alignCuts(llvm::ArrayRef<AxisRef> list,
                      llvm::ArrayRef<AxisRef> other, Cuts &cuts) {
  int64_t otherProduct = 1;
  for (const AxisRef &target : other) {
    otherProduct *= target.size;
    int64_t product = 1;
    for (const AxisRef &ref : list) {
      int64_t part = otherProduct / product;
      if (otherProduct % product == 0 && part > 1 && part < ref.size &&
          ref.size % part == 0)
        cuts[ref.axis].insert(ref.pre * part);
      product *= ref.size;
    }
  }
}

static void primeCuts(Cuts &cuts) {
  for (auto &[axis, positions] : cuts) {
    std::set<int64_t> finer = positions;
    int64_t previous = 1;
    for (int64_t position : positions) {
      int64_t rest = position / previous;
      for (int64_t prime = 2; rest > 1; ++prime)
        for (; rest % prime == 0; rest /= prime)
          finer.insert(previous *= prime);
      previous = position;
    }
    positions = std::move(finer);
  }
}

/// The digits of `list`. Axes of size 1 have none.
static llvm::SmallVector<AxisRef, 8> cutAxes(llvm::ArrayRef<AxisRef> list,
                                             const Cuts &cuts) {
  llvm::SmallVector<AxisRef, 8> digits;
  for (const AxisRef &ref : list) {
    int64_t previous = ref.pre;
    for (int64_t position : cuts.at(ref.axis)) {
      if (position <= previous || position > ref.next())
        continue;
      digits.push_back({ref.axis, previous, position / previous});
      previous = position;
    }
  }
  return digits;
}

/// Whether cutting left every position a multiple of the one before.
static bool isChain(const Cuts &cuts) {
  for (const auto &[axis, positions] : cuts) {
    int64_t previous = 1;
    for (int64_t position : positions) {
      if (position % previous != 0)
        return false;
      previous = position;
    }
  }
  return true;
}

/// Also of the axes that neither sharding mentions.
static Cuts makeCuts(const Mesh &mesh, const Sharding &from, const Sharding &to,
                     DigitCut cut) {
  Cuts cuts = findCuts(from, to);
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis)
    cuts[axis].insert({1, mesh.axisSize(axis)});
  if (cut == DigitCut::Aligned) {
    Cuts aligned = cuts;
    for (size_t d = 0; d < from.dims.size(); ++d) {
      alignCuts(from.dims[d].axes, to.dims[d].axes, aligned);
      alignCuts(to.dims[d].axes, from.dims[d].axes, aligned);
    }
    if (isChain(aligned))
      cuts = std::move(aligned);
  }
  if (cut == DigitCut::Primes)
    primeCuts(cuts);
  return cuts;
}

//===----------------------------------------------------------------------===//
// Making the problem
//===----------------------------------------------------------------------===//

namespace {

using Refs = llvm::SmallVector<AxisRef, 8>;

/// Both shardings as lists of digits, before what they share is set aside.
struct CutShardings {
  llvm::SmallVector<Refs, 4> from, to;
  Refs fromUnreduced, toUnreduced;
};

} // namespace

static CutShardings cutBoth(const Sharding &from, const Sharding &to,
                            const Cuts &cuts) {
  CutShardings result;
  for (size_t d = 0; d < from.dims.size(); ++d) {
    result.from.push_back(cutAxes(from.dims[d].axes, cuts));
    result.to.push_back(cutAxes(to.dims[d].axes, cuts));
  }
  result.fromUnreduced = cutAxes(from.unreduced, cuts);
  result.toUnreduced = cutAxes(to.unreduced, cuts);
  return result;
}

/// Moves common prefixes of dimensions and common unreduced digits from `both`
/// to the fixed part of `problem`.
static void setCommonAside(CutShardings &both, DigitProblem &problem) {
  for (size_t d = 0; d < both.from.size(); ++d) {
    Refs &from = both.from[d], &to = both.to[d];
    size_t common = 0;
    while (common < from.size() && common < to.size() &&
           from[common] == to[common])
      ++common;
    AxisList &fixed = problem.fixed[d];
    for (size_t i = 0; i < common; ++i) {
      appendMerging(fixed, from[i]);
      problem.room[d] /= from[i].size;
      problem.wholeBytes /= from[i].size;
    }
    from.erase(from.begin(), from.begin() + common);
    to.erase(to.begin(), to.begin() + common);
  }
  auto isShared = [&](const AxisRef &ref) {
    return llvm::is_contained(both.fromUnreduced, ref) &&
           llvm::is_contained(both.toUnreduced, ref);
  };
  for (const AxisRef &ref : both.fromUnreduced)
    if (isShared(ref))
      problem.fixedUnreduced.push_back(ref);
  llvm::erase_if(both.fromUnreduced, [&](const AxisRef &ref) {
    return llvm::is_contained(problem.fixedUnreduced, ref);
  });
  llvm::erase_if(both.toUnreduced, [&](const AxisRef &ref) {
    return llvm::is_contained(problem.fixedUnreduced, ref);
  });
}

static void numberDigits(const CutShardings &both, DigitProblem &problem) {
  auto add = [&](llvm::ArrayRef<AxisRef> refs) {
    problem.digits.append(refs.begin(), refs.end());
  };
  for (const Refs &refs : both.from)
    add(refs);
  for (const Refs &refs : both.to)
    add(refs);
  add(both.fromUnreduced);
  add(both.toUnreduced);
  std::sort(problem.digits.begin(), problem.digits.end());
  problem.digits.erase(
      std::unique(problem.digits.begin(), problem.digits.end()),
      problem.digits.end());
}

/// The digits that neither sharding mentions, the smallest span first.
static Refs idleDigits(const Mesh &mesh, const Sharding &from,
                       const Sharding &to, const Cuts &cuts) {
  Refs idle;
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis)
    for (const AxisRef &digit : cutAxes(mesh.fullAxis(axis), cuts)) {
      bool isIdle = true;
      auto visit = [&](const AxisRef &ref) { isIdle &= !ref.overlaps(digit); };
      forEachAxis(from, visit);
      forEachAxis(to, visit);
      if (isIdle)
        idle.push_back(digit);
    }
  llvm::stable_sort(idle, [&](const AxisRef &a, const AxisRef &b) {
    return mesh.span(a) < mesh.span(b);
  });
  return idle;
}

/// For each digit those of its size, on links like its own, that are partial
/// sums in the target as it is.
static llvm::SmallVector<uint32_t, 8> findAlike(const DigitProblem &problem) {
  llvm::SmallVector<uint32_t, 8> alike;
  for (size_t a = 0; a < problem.digits.size(); ++a) {
    uint32_t &set = alike.emplace_back(0);
    for (size_t b = 0; b < problem.digits.size(); ++b)
      if (problem.size(a) == problem.size(b) &&
          problem.cost->link(problem.spans[a]) ==
              problem.cost->link(problem.spans[b]) &&
          (problem.to.unreduced >> a & 1) == (problem.to.unreduced >> b & 1))
        set |= 1u << b;
  }
  return alike;
}

/// Adds the first idle digit of each size, the second of each, and so on.
static void addSpares(Refs idle, DigitProblem &problem) {
  Refs spares;
  auto isFull = [&] {
    return problem.digits.size() + spares.size() >= maxDigitsWithSpares;
  };
  while (!isFull() && !idle.empty()) {
    std::set<int64_t> sizes;
    llvm::erase_if(idle, [&](const AxisRef &digit) {
      bool isAdded = !isFull() && sizes.insert(digit.size).second;
      if (isAdded)
        spares.push_back(digit);
      return isAdded;
    });
  }
  problem.digits.append(spares);
  llvm::sort(problem.digits);
  problem.numSpares = spares.size();
}

static DigitLayout layoutOf(const DigitProblem &problem,
                            llvm::ArrayRef<Refs> dims,
                            llvm::ArrayRef<AxisRef> unreduced) {
  auto number = [&](const AxisRef &ref) {
    return static_cast<uint8_t>(
        std::lower_bound(problem.digits.begin(), problem.digits.end(), ref) -
        problem.digits.begin());
  };
  DigitLayout layout;
  for (const Refs &refs : dims) {
    DigitList &list = layout.dims.emplace_back();
    for (const AxisRef &ref : refs)
      list.push_back(number(ref));
  }
  for (const AxisRef &ref : unreduced)
    layout.unreduced |= 1u << number(ref);
  return layout;
}

static llvm::SmallVector<int64_t, 2>
findLinkSpans(const cost::CollectiveCost &cost,
              llvm::SmallVector<int64_t, 8> spans) {
  llvm::SmallVector<int64_t, 2> result;
  llvm::sort(spans);
  for (int64_t span : spans)
    if (!result.empty() && cost.link(result.back()) == cost.link(span))
      result.back() = span;
    else
      result.push_back(span);
  return result;
}

std::optional<DigitProblem>
sharding::makeDigitProblem(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                           int64_t elementBytes, const Sharding &from,
                           const Sharding &to, const cost::CollectiveCost &cost,
                           DigitCut cut, DigitChoice choice) {
  DigitProblem problem;
  problem.cost = &cost;
  problem.room.assign(shape.begin(), shape.end());
  problem.wholeBytes = elementBytes;
  for (int64_t size : shape)
    problem.wholeBytes *= size;
  const Cuts cuts = makeCuts(mesh, from, to, cut);
  CutShardings both = cutBoth(from, to, cuts);
  problem.fixed.resize(shape.size());
  if (choice == DigitChoice::Differing)
    setCommonAside(both, problem);
  numberDigits(both, problem);
  if (problem.digits.size() > maxDigits)
    return std::nullopt;
  if (!problem.digits.empty())
    addSpares(idleDigits(mesh, from, to, cuts), problem);
  for (const AxisRef &digit : problem.digits)
    problem.spans.push_back(mesh.span(digit));
  problem.linkSpans = findLinkSpans(cost, problem.spans);
  problem.from = layoutOf(problem, both.from, both.fromUnreduced);
  problem.to = layoutOf(problem, both.to, both.toUnreduced);
  problem.placeless = problem.replicated(problem.to) | problem.to.unreduced;
  problem.alike = findAlike(problem);
  return problem;
}
