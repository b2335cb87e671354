//===- StageCut.cpp - Where a chain is cut into stages --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/StageCut.h"

#include "weft/Timeline/Extent.h"

#include <algorithm>
#include <limits>

namespace weft::timeline {

static double timeOf(const StageCosts &costs) {
  return costs.forward + costs.backward();
}

Costs costsOfCut(std::span<const RegionCosts> regions,
                 std::span<const int32_t> cuts) {
  Costs result;
  size_t region = 0;
  for (size_t stage = 0; stage <= cuts.size(); ++stage) {
    const size_t end = stage < cuts.size() ? cuts[stage] : regions.size();
    StageCosts sum{0, 0, 0, {}, 0};
    for (; region < end; ++region) {
      const StageCosts &each = regions[region].costs;
      sum.forward += each.forward;
      sum.inputGradient += each.inputGradient;
      sum.weightGradient += each.weightGradient;
      sum.activation += each.activation;
    }
    result.stages.push_back(sum);
    if (stage < cuts.size())
      result.transfer = std::max(result.transfer, regions[end - 1].transfer);
  }
  return result;
}

/// Whether the regions [begin, end) can be a stage.
static bool isStage(std::span<const RegionCosts> regions, int32_t begin,
                    int32_t end) {
  return begin < end && std::ranges::any_of(regions.subspan(begin, end - begin),
                                            &RegionCosts::usesParameter);
}

/// The cuts with the least time of the slowest stage; of those, with the least
/// to send.
static std::vector<int32_t> balance(std::span<const RegionCosts> regions,
                                    int32_t stages) {
  const int32_t count = int32_t(regions.size());
  std::vector<double> before(count + 1, 0);
  for (int32_t i = 0; i < count; ++i)
    before[i + 1] = before[i] + timeOf(regions[i].costs);
  struct Best {
    double slowest = std::numeric_limits<double>::infinity(), sent = 0;
    int32_t cut = -1;
  };
  // [stages so far][regions so far]
  std::vector<std::vector<Best>> best(stages + 1, std::vector<Best>(count + 1));
  best[0][0] = {0, 0, -1};
  for (int32_t stage = 1; stage <= stages; ++stage)
    for (int32_t end = stage; end <= count; ++end)
      for (int32_t begin = stage - 1; begin < end; ++begin) {
        if (!isStage(regions, begin, end))
          continue;
        const Best &rest = best[stage - 1][begin];
        const double slowest =
            std::max(rest.slowest, before[end] - before[begin]);
        const double sent =
            rest.sent + (begin > 0 ? regions[begin - 1].transfer : 0);
        Best &mine = best[stage][end];
        if (slowest < mine.slowest ||
            (slowest == mine.slowest && sent < mine.sent))
          mine = {slowest, sent, begin};
      }
  std::vector<int32_t> cuts;
  for (int32_t stage = stages, end = count; stage > 1; --stage) {
    end = best[stage][end].cut;
    cuts.insert(cuts.begin(), end);
  }
  return cuts;
}

static bool isCut(const std::vector<int32_t> &cuts,
                  std::span<const RegionCosts> regions) {
  int32_t before = 0;
  for (const int32_t cut : cuts) {
    if (!isStage(regions, before, cut))
      return false;
    before = cut;
  }
  return isStage(regions, before, int32_t(regions.size()));
}

/// Moves cuts, one or two neighbours at a time, by a region as long as that
/// makes the step shorter.
static void improve(std::vector<int32_t> &cuts,
                    std::span<const RegionCosts> regions, const Table &table) {
  const auto makespanOf = [&](const std::vector<int32_t> &tried) {
    const std::optional<Timing> timing =
        timeTable(table, costsOfCut(regions, tried));
    return timing ? timing->makespan : std::numeric_limits<double>::infinity();
  };
  // Of the work, so that a search ends soon whatever the table is.
  constexpr int64_t mostActions = 20'000'000;
  int64_t actions = 0;
  for (const Row &row : table.rows)
    actions += int64_t(row.size());
  int64_t left = mostActions / std::max<int64_t>(actions, 1);
  double least = makespanOf(cuts);
  for (bool hasImproved = true; hasImproved;) {
    hasImproved = false;
    for (size_t i = 0; i < cuts.size(); ++i)
      for (const auto &[step, next] :
           {std::pair(-1, 0), {1, 0}, {-1, -1}, {1, 1}, {-1, 1}, {1, -1}}) {
        std::vector<int32_t> tried = cuts;
        tried[i] += step;
        if (next != 0 && i + 1 == cuts.size())
          continue;
        if (next != 0)
          tried[i + 1] += next;
        if (!isCut(tried, regions) || left-- <= 0)
          continue;
        const double makespan = makespanOf(tried);
        // Not for rounding errors.
        if (makespan < least * (1 - 1e-9)) {
          least = makespan;
          cuts = std::move(tried);
          hasImproved = true;
        }
      }
  }
}

std::vector<int32_t> cutIntoStages(std::span<const RegionCosts> regions,
                                   const Table &table) {
  const int32_t stages = extentOf(table).stages;
  if (stages < 1 ||
      std::ranges::count_if(regions, &RegionCosts::usesParameter) < stages)
    return {};
  std::vector<int32_t> cuts = balance(regions, stages);
  improve(cuts, regions, table);
  return cuts;
}

} // namespace weft::timeline
