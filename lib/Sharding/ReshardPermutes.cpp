//===- ReshardPermutes.cpp - Permutes that lead to a target ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A permute may put any digits anywhere as long as the number of shards of each
// dimension stays; trying them all explodes beyond five digits. A device
// exchanges its whole part in any case, so a permute may as well put in place
// all that sizes allow: each dimension takes the longest prefix of its target
// that fits its number of shards. Only what is left of the number of shards is
// filled by choice, with digits that have to leave later.
//
// Where some links are faster than others, the same is done over the faster
// ones alone, while the digits that they do not reach stay.
//
//===----------------------------------------------------------------------===//

#include "ReshardMoves.h"

#include "llvm/ADT/bit.h"

using namespace weft;
using namespace weft::sharding;

namespace {

/// Up to this many digits to choose from, besides those without a place in
/// the target, every choice is tried.
constexpr int maxFreeChoice = 4;
/// Permutes of one span tried out of one state.
constexpr int maxPermutes = 96;

class PermuteGenerator {
public:
  PermuteGenerator(const DigitProblem &problem, const DigitLayout &layout,
                   int64_t localBytes, MayPay mayPay,
                   llvm::function_ref<void(DigitMove &&)> visit)
      : problem(problem), layout(layout), localBytes(localBytes),
        mayPay(mayPay), visit(visit) {}

  /// Permutes over links as fast as those of a span; they put nothing in place
  /// but by choice unless `mayPlace`.
  void run(int64_t span, bool mayPlace);

private:
  void placeTargets(bool mayPlace);
  /// Fills dimension `dim` (past the last: the unreduced digits) and those
  /// after it.
  void fill(size_t dim);
  void fillUnreduced(uint8_t firstDigit);
  uint32_t choices(size_t dim) const;
  void emit();

  const DigitProblem &problem;
  const DigitLayout &layout;
  /// What a device sends in any of them.
  int64_t localBytes;
  MayPay mayPay;
  llvm::function_ref<void(DigitMove &&)> visit;
  DigitLayout result;
  /// What is still to be filled of each dimension's number of shards.
  llvm::SmallVector<int64_t, 4> missing;
  int64_t missingUnreduced = 1;
  /// The digits that may change devices, and those of them that are still to be
  /// assigned.
  uint32_t inner = 0, free = 0;
  int emitted = 0;
};

} // namespace

void PermuteGenerator::placeTargets(bool mayPlace) {
  auto isInner = [&](uint8_t digit) { return inner >> digit & 1; };
  // What is outside an outer digit stays.
  for (const DigitList &held : layout.dims) {
    DigitList &kept = result.dims.emplace_back(held);
    while (!kept.empty() && isInner(kept.back()))
      kept.pop_back();
  }
  free = inner & ~problem.splitting(result);
  for (auto [held, wanted, list] :
       llvm::zip_equal(layout.dims, problem.to.dims, result.dims)) {
    int64_t rest = problem.product(held) / problem.product(list);
    bool isRight = mayPlace && list.size() <= wanted.size() &&
                   std::equal(list.begin(), list.end(), wanted.begin());
    for (size_t i = list.size(); isRight && i < wanted.size(); ++i) {
      uint8_t digit = wanted[i];
      if (!(free >> digit & 1) || rest % problem.size(digit) != 0)
        break;
      rest /= problem.size(digit);
      list.push_back(digit);
      free &= ~(1u << digit);
    }
    missing.push_back(rest);
  }
  result.reduced = layout.reduced;
  result.unreduced = layout.unreduced & ~inner;
  missingUnreduced = problem.product(layout.unreduced & inner);
  for (uint8_t digit : digitsOf(problem.to.unreduced & free)) {
    if (missingUnreduced % problem.size(digit) != 0)
      continue;
    missingUnreduced /= problem.size(digit);
    result.unreduced |= 1u << digit;
    free &= ~(1u << digit);
  }
}

/// Digits to try next at the end of `dim`.
uint32_t PermuteGenerator::choices(size_t dim) const {
  uint32_t wanted = free & ~problem.placeless;
  if (llvm::popcount(wanted) <= maxFreeChoice)
    return problem.withoutAlike(free);
  uint32_t set = problem.withoutAlike(free & problem.placeless);
  // The digit that is there now.
  size_t position = result.dims[dim].size();
  if (position < layout.dims[dim].size())
    set |= 1u << layout.dims[dim][position];
  // Digits that a dimension wants next: an all-to-all may take them there.
  for (const DigitList &list : problem.to.dims)
    for (uint8_t digit : list)
      if (free >> digit & 1) {
        set |= 1u << digit;
        break;
      }
  return set & free;
}

void PermuteGenerator::fill(size_t dim) {
  if (emitted >= maxPermutes)
    return;
  if (dim == missing.size())
    return fillUnreduced(0);
  if (missing[dim] == 1)
    return fill(dim + 1);
  for (uint8_t digit : digitsOf(choices(dim))) {
    int64_t size = problem.size(digit);
    if (missing[dim] % size != 0)
      continue;
    missing[dim] /= size;
    free &= ~(1u << digit);
    result.dims[dim].push_back(digit);
    fill(dim);
    result.dims[dim].pop_back();
    free |= 1u << digit;
    missing[dim] *= size;
  }
}

void PermuteGenerator::fillUnreduced(uint8_t firstDigit) {
  if (missingUnreduced == 1)
    return emit();
  uint32_t candidates = problem.withoutAlike(free);
  for (uint8_t digit : digitsOf(candidates >> firstDigit << firstDigit)) {
    int64_t size = problem.size(digit);
    if (missingUnreduced % size != 0)
      continue;
    missingUnreduced /= size;
    free &= ~(1u << digit);
    result.unreduced |= 1u << digit;
    fillUnreduced(digit + 1);
    result.unreduced &= ~(1u << digit);
    free |= 1u << digit;
    missingUnreduced *= size;
  }
}

void PermuteGenerator::emit() {
  if (result.placesLike(layout) || emitted >= maxPermutes)
    return;
  ++emitted;
  DigitMove move{ReshardKind::Permute};
  for (size_t d = 0; d < layout.dims.size(); ++d) {
    const DigitList &before = layout.dims[d], &after = result.dims[d];
    size_t common = 0;
    while (common < before.size() && common < after.size() &&
           before[common] == after[common])
      ++common;
    move.digits.append(before.begin() + common, before.end());
    move.toDigits.append(after.begin() + common, after.end());
  }
  move.digits.append(digitsOf(layout.unreduced & ~result.unreduced));
  move.toDigits.append(digitsOf(result.unreduced & ~layout.unreduced));
  if (!mayPay(localBytes,
              std::max(problem.span(move.digits), problem.span(move.toDigits))))
    return;
  move.result = result;
  visit(std::move(move));
}

void PermuteGenerator::run(int64_t span, bool mayPlace) {
  for (size_t digit = 0; digit < problem.digits.size(); ++digit)
    if (problem.spans[digit] <= span)
      inner |= 1u << digit;
  placeTargets(mayPlace);
  fill(0);
}

void sharding::forEachPermute(const DigitProblem &problem,
                              const DigitLayout &layout, MayPay mayPay,
                              llvm::function_ref<void(DigitMove &&)> visit) {
  const int64_t localBytes = problem.localBytes(layout);
  // Over the fastest links that there are.
  if (llvm::none_of(problem.linkSpans,
                    [&](int64_t span) { return mayPay(localBytes, span); }))
    return;
  for (int64_t span : problem.linkSpans)
    for (bool mayPlace : {true, false})
      if (mayPlace || problem.linkSpans.size() > 1)
        PermuteGenerator(problem, layout, localBytes, mayPay, visit)
            .run(span, mayPlace);
}
