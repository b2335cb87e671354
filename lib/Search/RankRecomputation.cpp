//===- RankRecomputation.cpp - What ranks of a pipeline recompute ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Search/RankRecomputation.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace weft {
namespace {

/// What is recomputed of a region.
enum class Again { Nothing, AllButDots, All };

/// One step further for a region.
struct Step {
  size_t region;
  Again from, to;
  int64_t bytes;
  double work;

  bool isCheaperThan(const Step &other) const {
    return work * double(other.bytes) < other.work * double(bytes);
  }
};

} // namespace

static int64_t freedBytes(const KeptRegion &region, Again again) {
  return again == Again::Nothing      ? 0
         : again == Again::AllButDots ? region.bytes - region.dotBytes
                                      : region.bytes;
}

static double workOf(const KeptRegion &region, Again again) {
  return again == Again::Nothing      ? 0
         : again == Again::AllButDots ? region.dotWork
                                      : region.work;
}

static Step makeStep(size_t number, const KeptRegion &region, Again from,
                     Again to) {
  return {number, from, to, freedBytes(region, to) - freedBytes(region, from),
          workOf(region, to) - workOf(region, from)};
}

/// From what is recomputed already to all, by way of all but matmuls if that
/// frees its bytes for less work.
static void addSteps(size_t number, const KeptRegion &region, Again from,
                     std::vector<Step> &steps) {
  const Step all = makeStep(number, region, from, Again::All);
  if (all.bytes <= 0)
    return;
  const Step some = makeStep(number, region, from, Again::AllButDots);
  if (from == Again::Nothing && some.bytes > 0 && some.isCheaperThan(all)) {
    steps.push_back(some);
    if (some.bytes < all.bytes)
      steps.push_back(makeStep(number, region, Again::AllButDots, Again::All));
  } else {
    steps.push_back(all);
  }
}

/// What else to recompute than `again` so that as many bytes are freed: of the
/// steps in order of what a byte takes, the beginning that takes the least work
/// with one more step. None if all of them are not enough.
static std::optional<std::map<size_t, Again>>
free(const RankMemory &rank, int64_t bytes, std::map<size_t, Again> again) {
  std::vector<Step> steps;
  for (const auto &[number, region] : rank.regions) {
    const Again from = again[number];
    bytes -= freedBytes(region, from);
    addSteps(number, region, from, steps);
  }
  if (bytes <= 0)
    return again;
  std::sort(steps.begin(), steps.end(), [](const Step &a, const Step &b) {
    if (a.isCheaperThan(b) || b.isCheaperThan(a))
      return a.isCheaperThan(b);
    return std::tie(a.region, a.to) < std::tie(b.region, b.to);
  });
  std::optional<std::map<size_t, Again>> best;
  double least = std::numeric_limits<double>::infinity(), work = 0;
  for (auto next = steps.begin();; ++next) {
    for (const auto &[number, region] : rank.regions)
      for (Again to : {Again::AllButDots, Again::All}) {
        const Step last = makeStep(number, region, again[number], to);
        if (to <= last.from || last.bytes < bytes ||
            !(work + last.work < least))
          continue;
        least = work + last.work;
        best = again;
        (*best)[number] = to;
      }
    if (next == steps.end() || next->bytes >= bytes)
      return best;
    again[next->region] = next->to;
    bytes -= next->bytes;
    work += next->work;
  }
}

std::optional<ChainPlan> planRanks(const std::vector<RankMemory> &ranks,
                                   int64_t limit) {
  std::map<size_t, Again> again;
  for (const RankMemory &rank : ranks) {
    if (rank.bytes <= limit)
      continue;
    auto freed = free(rank, rank.bytes - limit, again);
    if (!freed)
      return std::nullopt;
    again = std::move(*freed);
  }
  ChainPlan plan;
  for (const auto &[number, how] : again)
    if (how != Again::Nothing)
      plan.ranges.push_back({number, number + 1, how == Again::AllButDots});
  for (const RankMemory &rank : ranks) {
    double work = 0;
    for (const auto &[number, region] : rank.regions)
      if (const auto taken = again.find(number); taken != again.end())
        work += workOf(region, taken->second);
    plan.work = std::max(plan.work, work);
  }
  return plan;
}

} // namespace weft
