//===- LimitMemory.cpp - Recompute to stay under a limit ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Search/LimitMemory.h"

#include "RegionCosts.h"
#include "Trial.h"
#include "weft/Cost/Bytes.h"
#include "weft/IR/ClusterCost.h"
#include "weft/Plan/PlanWriter.h"
#include "weft/Report/PlanReport.h"
#include "weft/Schedule/EntryBuffers.h"

#include <array>
#include <map>

using namespace mlir;

namespace weft {
namespace {

using Ranges = std::vector<std::string>;
using Chains = std::vector<std::vector<ChainRegion>>;

/// A schedule, and what was recomputed in it.
struct Trial {
  Ranges ranges;
  double work = 0;
  int64_t bytes = 0;
  OwningOpRef<ModuleOp> schedule;
};

class RecomputationSearch {
public:
  RecomputationSearch(ModuleOp graph, const PipelineOptions &options,
                      int64_t limit)
      : graph(graph), options(options), limit(limit) {}

  /// Whether nothing need be recomputed.
  FailureOr<bool> fits();
  /// None if no choice that is found is under the limit.
  FailureOr<std::optional<Ranges>> run();
  /// The fewest bytes of what was tried.
  int64_t leastBytes() const { return smallest.bytes; }
  /// Says that nothing was found.
  LogicalResult fail();

private:
  /// A choice for chains that may take `budget` bytes.
  struct Choice {
    Ranges ranges;
    double work = 0;
  };

  std::optional<Choice> choose(int64_t budget, size_t units) const;
  std::optional<int64_t> findLeastBudget(int64_t budget, int64_t goal) const;
  LogicalResult attempt(const Choice &choice);
  LogicalResult search(int64_t goal);
  Choice everythingAgain(bool isNested) const;

  ModuleOp graph;
  const PipelineOptions &options;
  const int64_t limit;
  Chains chains;
  /// Of a pipeline, where the chains only say which regions there are.
  std::vector<RankMemory> ranks;
  /// The bytes of what was tried.
  std::map<Ranges, int64_t> tried;
  /// The trial of the fewest bytes, and the choice that is under the limit with
  /// the least work.
  Trial smallest;
  std::optional<Choice> best;
  /// What it takes without recomputation.
  int64_t unlimitedBytes = 0;
};

} // namespace

static void addRanges(Ranges &ranges, const ChainPlan &plan, size_t first) {
  for (const RecomputedRange &range : plan.ranges)
    ranges.push_back(std::to_string(first + range.begin) + ":" +
                     std::to_string(first + range.end) +
                     (range.keepsDots ? ":dots" : ""));
}

std::optional<RecomputationSearch::Choice>
RecomputationSearch::choose(int64_t budget, size_t units) const {
  Choice choice;
  if (!ranks.empty()) {
    std::optional<ChainPlan> plan = planRanks(ranks, budget);
    if (!plan)
      return std::nullopt;
    addRanges(choice.ranges, *plan, 0);
    choice.work = plan->work;
    return choice;
  }
  size_t first = 0;
  for (const std::vector<ChainRegion> &chain : chains) {
    std::optional<ChainPlan> plan = planChain(chain, budget, units);
    if (!plan)
      return std::nullopt;
    addRanges(choice.ranges, *plan, first);
    choice.work += plan->work;
    first += chain.size();
  }
  return choice;
}

/// The smallest budget above `budget` for which there is a choice, nearly.
std::optional<int64_t>
RecomputationSearch::findLeastBudget(int64_t budget, int64_t goal) const {
  constexpr size_t units = 64;
  int64_t low = budget, high = std::max(unlimitedBytes, goal);
  if (!choose(high, units))
    return std::nullopt;
  while (high - low > goal / 64 + 1) {
    int64_t middle = low + (high - low) / 2;
    (choose(middle, units) ? high : low) = middle;
  }
  return high;
}

/// Compiles with a choice, to a schedule.
LogicalResult RecomputationSearch::attempt(const Choice &choice) {
  if (tried.count(choice.ranges))
    return success();
  PipelineOptions pipeline = options;
  pipeline.markRegions = true;
  pipeline.recomputed = choice.ranges;
  Trial trial{choice.ranges, choice.work, 0,
              runOnCopy(graph, [&](PassManager &pm) {
                buildPipeline(pm, pipeline, Form::Schedule);
              })};
  if (!trial.schedule)
    return failure();
  trial.bytes = arenaBytes(*trial.schedule);
  tried[choice.ranges] = trial.bytes;
  if (trial.bytes <= limit && (!best || choice.work < best->work))
    best = choice;
  if (!smallest.schedule || trial.bytes < smallest.bytes)
    smallest = std::move(trial);
  return success();
}

/// Looks for the highest budget whose choice takes `goal` bytes or less.
LogicalResult RecomputationSearch::search(int64_t goal) {
  constexpr int maxAttempts = 8, maxRepeats = 12;
  constexpr int64_t none = std::numeric_limits<int64_t>::max();
  int64_t budget = goal, over = none, under = -1;
  bool isLeast = false;
  // Other budgets may lead to a choice that was tried, which takes no time.
  for (int attempts = 0, repeats = 0;
       attempts < maxAttempts && repeats < maxRepeats;) {
    std::optional<Choice> choice = choose(budget, 0);
    if (!choice) {
      // The chains may need less than they say.
      auto least = isLeast ? std::nullopt : findLeastBudget(budget, goal);
      if (under >= 0 || !least)
        break;
      budget = *least;
      isLeast = true;
      continue;
    }
    const bool isNew = !tried.count(choice->ranges);
    attempts += isNew;
    repeats = isNew ? 0 : repeats + 1;
    if (failed(attempt(*choice)))
      return failure();
    int64_t bytes = tried.at(choice->ranges);
    if (bytes <= goal)
      under = std::max(under, budget);
    else
      over = std::min(over, budget);
    if (under >= 0 && over - under <= goal / 128)
      break;
    // The chains took so much more, or less, than they promised, and as long as
    // that leads to the same choice, twice as much.
    int64_t next =
        budget + (goal - bytes) * (int64_t(1) << std::min(repeats, 16));
    bool isTried = next <= under || next >= over || next == budget;
    if (isTried && (over == none || under < 0))
      break;
    budget = isTried ? under + (over - under) / 2 : next;
  }
  return success();
}

/// Every region recomputed on its own, and if `isNested` also the halves of
/// each chain, their halves and so on: what takes the least where regions hold
/// more, and less beside them, than was measured.
RecomputationSearch::Choice
RecomputationSearch::everythingAgain(bool isNested) const {
  Choice choice;
  size_t first = 0;
  for (const std::vector<ChainRegion> &chain : chains) {
    const size_t count = chain.size();
    for (size_t width = 1; width == 1 || (isNested && width < count);
         width *= 2)
      for (size_t begin = 0; begin + width / 2 < count; begin += width) {
        const size_t end = std::min(begin + width, count);
        choice.ranges.push_back(std::to_string(first + begin) + ":" +
                                std::to_string(first + end));
        for (size_t region = begin; region < end; ++region)
          choice.work += chain[region].work;
      }
    first += count;
  }
  return choice;
}

static const MemoryReport &memoryOf(const EntryReport &entry) {
  return entry.memory[entry.largestRole()];
}

/// The entry that takes the most.
static const EntryReport &largestEntry(const PlanReport &report) {
  return *std::max_element(report.entries.begin(), report.entries.end(),
                           [](const EntryReport &a, const EntryReport &b) {
                             return memoryOf(a).peakBytes <
                                    memoryOf(b).peakBytes;
                           });
}

/// The tensors alive at the peak of an entry, one a line.
static std::string describePeak(const EntryReport &entry) {
  constexpr size_t shown = 8;
  const MemoryReport &memory = memoryOf(entry);
  std::string text = "alive at the peak of @" + entry.name;
  if (!memory.peakLocation.empty())
    text += " (" + memory.peakLocation + ")";
  uint64_t rest = 0;
  for (auto [index, tensor] : llvm::enumerate(memory.peak)) {
    if (index >= shown)
      rest += tensor.bytes;
    else
      text += "\n  " + printBytes(tensor.bytes) + ", " + tensor.purpose + ", " +
              tensor.type + " " + tensor.name;
  }
  if (rest)
    text += "\n  and " + printBytes(rest) + " in " +
            std::to_string(memory.peak.size() - shown) + " more";
  return text;
}

LogicalResult RecomputationSearch::fail() {
  TargetOptions none;
  none.machineCode = false;
  auto plan = writePlan(*smallest.schedule, none);
  if (failed(plan))
    return failure();
  PlanReport report = makePlanReport(*plan);
  const EntryReport &entry = largestEntry(report);
  InFlightDiagnostic error = graph.lookupSymbol(entry.name)->emitError()
                             << "does not fit the memory limit of "
                             << exactBytes(limit) << " per rank: ";
  if (chains.empty())
    error << "the plan needs " << exactBytes(smallest.bytes)
          << ", and without weft.value_and_grad there is nothing to recompute";
  else
    error << "with recomputation the smallest plan found needs "
          << exactBytes(smallest.bytes);
  error << "; shard states and activations over more devices, use smaller "
           "(micro-)batches, or raise the limit";
  error.attachNote() << describePeak(entry);
  return failure();
}

FailureOr<bool> RecomputationSearch::fits() {
  if (failed(attempt(Choice())))
    return failure();
  return best.has_value();
}

FailureOr<std::optional<Ranges>> RecomputationSearch::run() {
  FailureOr<bool> isEnough = fits();
  if (failed(isEnough))
    return failure();
  if (*isEnough)
    return std::optional(best->ranges);
  unlimitedBytes = smallest.bytes;
  auto measured = measureChains(*smallest.schedule);
  if (failed(measured))
    return failure();
  chains = std::move(*measured);
  if (!options.stages.axis.empty()) {
    auto model = loadCostModel(graph, clusterOf(options));
    if (failed(model))
      return failure();
    ranks = measureRanks(*smallest.schedule, *model);
  }
  if (!chains.empty() && failed(search(limit)))
    return failure();
  for (bool isNested : {false, true})
    if (!best && !chains.empty() && failed(attempt(everythingAgain(isNested))))
      return failure();
  // A search for the least so far may come upon less.
  for (int64_t least = 0;
       !best && !chains.empty() && least != smallest.bytes;) {
    least = smallest.bytes;
    if (failed(search(least)))
      return failure();
  }
  return best ? std::optional(best->ranges) : std::nullopt;
}

static PipelineOptions recomputing(PipelineOptions options, Ranges ranges) {
  options.recomputed = std::move(ranges);
  return options;
}

/// Whether the first plan takes less time.
static FailureOr<bool> isFaster(ModuleOp graph, const PipelineOptions &options,
                                const PipelineOptions &other) {
  FailureOr<cost::CostModel> model = loadCostModel(graph, clusterOf(options));
  if (failed(model))
    return failure();
  double seconds[2];
  for (auto [each, taken] :
       llvm::zip_equal(std::array{&options, &other}, seconds)) {
    auto schedule = runOnCopy(graph, [&](PassManager &pm) {
      buildPipeline(pm, *each, Form::Schedule);
    });
    if (!schedule)
      return failure();
    taken = predictedSeconds(*schedule, *model);
  }
  return seconds[0] < seconds[1];
}

/// Whether `options`, without recomputation, are under the limit of the search
/// and faster than `found`. What a pipeline takes is not predicted here.
static FailureOr<bool> isBetter(RecomputationSearch &search, ModuleOp graph,
                                const PipelineOptions &options,
                                const PipelineOptions &found) {
  if (!options.stages.axis.empty())
    return false;
  FailureOr<bool> fits = search.fits();
  return succeeded(fits) && *fits ? isFaster(graph, options, found) : fits;
}

FailureOr<PipelineOptions>
limitMemory(ModuleOp graph, const PipelineOptions &options, int64_t limit) {
  // Collectives that are combined may hold more, and so may shardings that send
  // less.
  std::vector<PipelineOptions> variants = {options};
  if (options.combineCollectives) {
    variants.push_back(options);
    variants.back().combineCollectives = false;
  }
  if (options.optimizeShardings) {
    variants.push_back(variants.back());
    variants.back().optimizeShardings = false;
  }
  // What an order holds is estimated, and so is how little one can hold.
  if (options.overlapCollectives) {
    variants.push_back(variants.back());
    variants.back().overlapCollectives = false;
  }
  std::vector<RecomputationSearch> searches;
  for (const PipelineOptions &variant : variants)
    searches.emplace_back(graph, variant, limit);
  for (size_t i = 0; i < variants.size(); ++i) {
    auto ranges = searches[i].run();
    if (failed(ranges))
      return failure();
    if (!*ranges)
      continue;
    PipelineOptions found = recomputing(variants[i], **ranges);
    if (i > 0 || (*ranges)->empty() || !options.combineCollectives)
      return found;
    FailureOr<bool> isApart = isBetter(searches[1], graph, variants[1], found);
    if (failed(isApart))
      return failure();
    return *isApart ? variants[1] : found;
  }
  return llvm::min_element(searches,
                           [](const auto &a, const auto &b) {
                             return a.leastBytes() < b.leastBytes();
                           })
      ->fail();
}

} // namespace weft
