//===- schedules.cpp - How fast and how good pipeline schedules are -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   schedules           times tables of 64 ranks and 256 micro-batches
//   schedules 300       searches for tables of 300 uneven pipelines as well
//
// The pipelines are drawn at random: 2 to 8 ranks, 1 to 4 times as many
// micro-batches, stages that differ by up to 60 %, transfers of up to a fifth
// of a stage, and memory without a limit, of 1F1B or of half of that.
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/AutoSchedule.h"
#include "weft/Timeline/Extent.h"
#include "weft/Timeline/LowerBound.h"
#include "weft/Timeline/TableRules.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>

using namespace weft::timeline;

template <typename Work> static double secondsOf(Work &&work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

static void timeTables() {
  std::printf(
      "%-18s %8s %9s %9s %9s   (64 ranks, 256 micro-batches, seconds)\n", "",
      "actions", "generate", "check", "time");
  for (const NamedSchedule &schedule : namedSchedules()) {
    Table table;
    const double generates = secondsOf([&] {
      table = generate(schedule.name, {.ranks = 64, .microbatches = 256}).table;
    });
    const double checks = secondsOf([&] { findProblems(table); });
    Costs costs;
    costs.stages.resize(extentOf(table).stages);
    const double times = secondsOf([&] { timeTable(table, costs); });
    size_t actions = 0;
    for (const Row &row : table.rows)
      actions += row.size();
    std::printf("%-18s %8zu %9.3f %9.3f %9.3f\n",
                std::string(schedule.name).c_str(), actions, generates, checks,
                times);
  }
}

static AutoRequest drawRequest(std::mt19937 &random) {
  const auto pick = [&](auto values) {
    return *(values.begin() + random() % values.size());
  };
  const auto between = [&](double low, double high) {
    return low + (high - low) * (random() / 4294967296.0);
  };
  AutoRequest request;
  const int32_t p = pick(std::initializer_list<int32_t>{2, 3, 4, 6, 8});
  request.size = {.ranks = p, .microbatches = p * int32_t(1 + random() % 4)};
  const double spread = pick(std::initializer_list<double>{0.1, 0.3, 0.6});
  const double input = between(0.7, 1.5), weight = between(0.5, 1.2);
  for (int32_t s = 0; s < p; ++s) {
    const double forward = between(1 - spread, 1 + spread);
    StageCosts stage;
    stage.forward = forward;
    stage.inputGradient = input * forward * between(0.9, 1.1);
    stage.weightGradient = weight * forward * between(0.9, 1.1);
    request.costs.stages.push_back(stage);
  }
  request.costs.transfer = pick(std::initializer_list<double>{0, 0.05, 0.2});
  switch (random() % 3) {
  case 1:
    request.memoryLimit = p;
    break;
  case 2:
    request.memoryLimit = p / 2 + 1;
    break;
  }
  return request;
}

namespace {

/// Of some of the searches.
struct Summary {
  int count = 0, faster = 0, slower = 0;
  double logOfRatio = 0, logOfSimpleRatio = 0, logOfGain = 0;

  void print(const char *what) const {
    std::printf("%-26s %5d  %8.4f %8.4f   %5.1f %%  %5.1f %%  %3d\n", what,
                count, std::exp(logOfRatio / count),
                std::exp(logOfSimpleRatio / count),
                100 * (std::exp(logOfGain / count) - 1), 100.0 * faster / count,
                slower);
  }
};

} // namespace

static void search(int count) {
  std::mt19937 random(1);
  Summary all, unlimited, full, half;
  double seconds = 0, longest = 0;
  for (int i = 0; i < count; ++i) {
    const AutoRequest request = drawRequest(random);
    AutoSchedule found;
    const double time = secondsOf([&] { found = findFastest(request); });
    seconds += time;
    longest = std::max(longest, time);
    const Extent extent = extentOf(found.table);
    const Costs costs = recut(request.costs, extent.stages);
    const double makespan = timeTable(found.table, costs)->makespan;
    const double limit =
        request.memoryLimit.value_or(std::numeric_limits<double>::infinity());
    const double bound =
        lowerBoundWithin(limit, extent.placement, extent.microbatches, costs);
    const double simple =
        lowerBound(extent.placement, extent.microbatches, costs, true);
    const double named = found.named.front().makespan;
    Summary &part = !request.memoryLimit                        ? unlimited
                    : *request.memoryLimit < request.size.ranks ? half
                                                                : full;
    for (Summary *summary : {&all, &part}) {
      ++summary->count;
      summary->logOfRatio += std::log(makespan / bound);
      summary->logOfSimpleRatio += std::log(makespan / simple);
      summary->logOfGain += std::log(named / makespan);
      summary->faster += makespan < named - 1e-9;
      summary->slower += makespan > named + 1e-9;
    }
  }
  std::printf("\n%-26s %5s  %8s %8s   %7s  %7s  %s\n", "memory limit", "cases",
              "/ bound", "/ simple", "gain", "faster", "slower");
  unlimited.print("none");
  full.print("of 1F1B");
  half.print("half of 1F1B");
  all.print("all");
  std::printf("seconds a search: %.2f on average, %.2f at most\n",
              seconds / count, longest);
  std::puts("/ bound: geometric mean of makespan over the lower bound in the "
            "memory; / simple: over that without a limit\n"
            "gain, faster, slower: against the best published schedule that "
            "fits");
}

int main(int argc, char **argv) {
  timeTables();
  if (argc > 1)
    search(std::atoi(argv[1]));
}
