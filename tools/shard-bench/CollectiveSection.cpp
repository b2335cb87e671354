//===- CollectiveSection.cpp - The table of collectives -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCollectives.h"
#include "ProcessCollectives.h"
#include "SectionTables.h"

#include "weft/Cost/CollectiveTime.h"
#include "weft/runtime/InProcessWorld.h"

#include <fmt/format.h>

#include <numeric>

using namespace weft::runtime;
using weft::cost::CollectiveKind;

namespace weft::tools {

static bool areProcesses(const SectionOptions &options) {
  return options.target == "cpu" && options.launch.world > 1;
}

static std::vector<CollectiveCase>
collectiveCases(const SectionOptions &options, int ranks) {
  std::vector<CollectiveCase> cases;
  // Of processes 1 KiB to 64 MiB, where a library changes its ways.
  const int64_t smallest = areProcesses(options) ? 1024 : 256;
  const int64_t step = areProcesses(options) ? 4 : 8;
  const auto add = [&](CollectiveKind kind, DType dtype) {
    for (int64_t bytes = smallest; bytes <= options.largestBytes;
         bytes *= step) {
      // Every rank has as many whole elements.
      const int64_t unit = ranks * static_cast<int64_t>(byteSize(dtype));
      cases.push_back({kind, ranks, dtype, (bytes + unit - 1) / unit * unit});
    }
  };
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather,
        CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
        CollectiveKind::Permute})
    add(kind, DType::F32);
  add(CollectiveKind::AllReduce, DType::BF16);
  add(CollectiveKind::AllReduce, DType::F16);
  return cases;
}

/// 2, 4, 8, ... and the most.
static std::vector<int> rankCounts(const SectionOptions &options) {
  std::vector<int> counts;
  if (areProcesses(options))
    return {options.ranks};
  for (int ranks = 2; ranks < options.ranks; ranks *= 2)
    counts.push_back(ranks);
  if (options.ranks > 1)
    counts.push_back(options.ranks);
  return counts;
}

static int countCollectives(const SectionOptions &options) {
  size_t count = 0;
  for (int ranks : rankCounts(options))
    count += collectiveCases(options, ranks).size();
  return static_cast<int>(count);
}

static void print(const CollectiveCase &run, const CollectiveTiming &timing) {
  const double algbw = 1e-9 * static_cast<double>(run.bytes) / timing.best;
  fmt::print("{:<15} {:>5} {:>10} {:>10} {:>6} {:>10.2f} {:>10.2f} {:>10.2f} "
             "{:>8.2f} {:>8.2f} {:>8}",
             nameOf(run.kind), run.ranks, run.bytes, run.count(),
             name(run.dtype), 1e6 * timing.best, 1e6 * timing.median,
             1e6 * timing.cpu, algbw,
             algbw * cost::busFactor(run.kind, run.ranks), timing.errors);
  if (timing.ownBest != 0)
    fmt::print(" {:>10.2f} {:>6.2f}", 1e6 * timing.ownBest,
               timing.ownBest / timing.best);
  fmt::print("\n");
  std::fflush(stdout);
}

/// With `hasOwn` two columns more, of the library's own collective: its time,
/// and that over ours.
static void printHead(const std::string &of, bool hasOwn = false) {
  fmt::print("\ncollectives, {}; size, count and busbw as in nccl-tests, sums\n"
             "{:<15} {:>5} {:>10} {:>10} {:>6} {:>10} {:>10} {:>10} {:>8} "
             "{:>8} {:>8}{}\n"
             "{:<15} {:>5} {:>10} {:>10} {:>6} {:>10} {:>10} {:>10} {:>8} "
             "{:>8}{}\n",
             of, "collective", "ranks", "size", "count", "type", "time",
             "median", "CPU", "algbw", "busbw", "errors",
             hasOwn ? "  its own  ratio" : "", "", "", "(B)", "(elements)", "",
             "(us)", "(us)", "(us)", "(GB/s)", "(GB/s)",
             hasOwn ? "                (us)" : "");
}

static Status runOnThreads(const SectionOptions &options, Results &results) {
  printHead("threads of this process");
  for (int ranks : rankCounts(options)) {
    std::vector<int> members(ranks);
    std::iota(members.begin(), members.end(), 0);
    WEFT_ASSIGN_OR_RETURN(
        const std::unique_ptr<InProcessWorld> world,
        InProcessWorld::create(ranks, {{members}, {members}}));
    for (const CollectiveCase &run : collectiveCases(options, ranks)) {
      WEFT_ASSIGN_OR_RETURN(const CollectiveTiming timing,
                            timeCollective(run, *world, options.seconds));
      results.collectives.push_back({run, timing});
      results.count(timing.isBusy());
      print(run, timing);
    }
  }
  return {};
}

static Status runOnProcesses(const SectionOptions &options, Results &results) {
  WEFT_ASSIGN_OR_RETURN(
      const auto processes,
      ProcessCollectives::create(options.launch, options.ranks));
  printHead(processes->describe(), options.ranks == options.launch.world);
  for (const CollectiveCase &run : collectiveCases(options, options.ranks)) {
    WEFT_ASSIGN_OR_RETURN(const CollectiveTiming timing,
                          processes->time(run, options.seconds));
    results.collectives.push_back({run, timing});
    results.count(timing.isBusy());
    if (options.launch.rank == 0)
      print(run, timing);
  }
  return {};
}

static Status runOnGpus(const SectionOptions &options, Results &results) {
  WEFT_ASSIGN_OR_RETURN(const auto device,
                        DeviceCollectives::create(options.target, options.ranks,
                                                  options.largestBytes));
  if (device->isFirstProcess())
    printHead(device->describe());
  for (const CollectiveCase &run : device->cases()) {
    WEFT_ASSIGN_OR_RETURN(const CollectiveTiming timing, device->time(run));
    results.collectives.push_back({run, timing});
    results.count(timing.isBusy());
    if (device->isFirstProcess())
      print(run, timing);
  }
  return {};
}

static Status runCollectives(const SectionOptions &options, Results &results) {
  if (areProcesses(options))
    return runOnProcesses(options, results);
  return options.target == "cpu" ? runOnThreads(options, results)
                                 : runOnGpus(options, results);
}

Section collectiveSection() {
  return {"collectives", countCollectives, runCollectives};
}

} // namespace weft::tools
