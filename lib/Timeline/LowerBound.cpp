//===- LowerBound.cpp - What no table is faster than ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/LowerBound.h"

#include "Times.h"

#include <algorithm>
#include <limits>

namespace weft::timeline {
namespace {

/// What a rank does in one stage, and when it can begin to.
struct StageBounds {
  const StageCosts *costs = nullptr;
  /// The least time from the start of the step to its first forward, and to its
  /// first input gradient.
  double beforeForward = 0, beforeGradient = 0;
  /// The least time from the end of its last backward pass, or of its last
  /// input gradient, to the end of the step.
  double afterBackward = 0, afterGradient = 0;
};

std::vector<std::vector<StageBounds>> boundsOfRanks(const Placement &placement,
                                                    const Costs &costs) {
  const size_t count = placement.size();
  std::vector<StageBounds> stages(count);
  const auto transferTo = [&](size_t stage) {
    return placement[stage] != placement[stage - 1] ? costs.transfer : 0;
  };
  for (size_t s = 0; s < count; ++s) {
    stages[s].costs = &costs.stages[s];
    if (s == 0) {
      stages[s].afterGradient = costs.stages[s].weightGradient;
      continue;
    }
    const StageCosts &before = costs.stages[s - 1];
    const StageBounds &bounds = stages[s - 1];
    const double transfer = transferTo(s);
    stages[s].beforeForward = bounds.beforeForward + before.forward + transfer;
    stages[s].afterBackward =
        bounds.afterBackward + before.backward() + transfer;
    stages[s].afterGradient =
        bounds.afterGradient + before.inputGradient + transfer;
  }
  for (size_t s = count; s-- > 0;)
    stages[s].beforeGradient =
        s + 1 == count
            ? stages[s].beforeForward + costs.stages[s].forward
            : stages[s + 1].beforeGradient + costs.stages[s + 1].inputGradient +
                  transferTo(s + 1);
  std::vector<std::vector<StageBounds>> ranks(1 + std::ranges::max(placement));
  for (size_t s = 0; s < count; ++s)
    ranks[placement[s]].push_back(stages[s]);
  return ranks;
}

/// All actions of a rank; overlapped pairs save as much as they can.
double busyTime(const std::vector<StageBounds> &stages, int32_t microbatches) {
  double longest = 0, busy = 0;
  for (const StageBounds &stage : stages)
    longest = std::max(longest, stage.costs->backward());
  for (const StageBounds &stage : stages) {
    const double forward = stage.costs->forward;
    const double saved =
        stage.costs->overlapped
            ? std::max(0., forward + longest - *stage.costs->overlapped)
            : 0;
    busy += microbatches * (forward + stage.costs->backward() - saved);
  }
  return busy;
}

template <typename Value>
double leastOf(const std::vector<StageBounds> &stages, Value value) {
  double least = never;
  for (const StageBounds &stage : stages)
    least = std::min(least, value(stage));
  return least;
}

/// How long a rank can be busy with actions that hold activations, of each
/// stage `time` long and for no longer than `most`.
struct Holding {
  double time = 0, activation = 0, most = 0;
};
double mostWithin(double limit, std::vector<Holding> stages) {
  // What takes the longest for its memory first, the last one in part.
  std::ranges::sort(stages, [](const Holding &a, const Holding &b) {
    return a.time * b.activation > b.time * a.activation;
  });
  double total = 0;
  for (const auto &[time, activation, most] : stages) {
    const double fits =
        activation > 0 ? std::max(0., limit) / activation * time : never;
    const double part = std::min(fits, most);
    total += part;
    if (time > 0)
      limit -= part / time * activation;
  }
  return total;
}

} // namespace

double lowerBound(const Placement &placement, int32_t microbatches,
                  const Costs &costs, bool splitsBackward) {
  double bound = 0;
  for (const auto &stages : boundsOfRanks(placement, costs)) {
    if (stages.empty())
      continue;
    const double before =
        leastOf(stages, [](const StageBounds &s) { return s.beforeForward; });
    const double after =
        splitsBackward ? 0 : leastOf(stages, [](const StageBounds &s) {
          return s.afterBackward;
        });
    bound = std::max(bound, before + busyTime(stages, microbatches) + after);
  }
  return bound;
}

double lowerBoundWithin(double limit, const Placement &placement,
                        int32_t microbatches, const Costs &costs) {
  double bound = 0;
  for (const auto &stages : boundsOfRanks(placement, costs)) {
    if (stages.empty())
      continue;
    const double before =
        leastOf(stages, [](const StageBounds &s) { return s.beforeForward; });
    const double first =
        leastOf(stages, [](const StageBounds &s) { return s.beforeGradient; });
    const double after =
        leastOf(stages, [](const StageBounds &s) { return s.afterGradient; });
    std::vector<Holding> forwards, weightGradients;
    for (const StageBounds &stage : stages) {
      const StageCosts &of = *stage.costs;
      forwards.push_back({of.forward, of.activation,
                          std::min(microbatches * of.forward,
                                   std::max(0., first - stage.beforeForward))});
      weightGradients.push_back(
          {of.weightGradient, of.activation, microbatches * of.weightGradient});
    }
    const double waitsAtStart =
        std::max(0., first - before - mostWithin(limit, forwards));
    const double waitsAtEnd =
        std::max(0., after - mostWithin(limit, weightGradients));
    bound = std::max(bound, before + waitsAtStart +
                                busyTime(stages, microbatches) + waitsAtEnd);
  }
  return bound;
}

} // namespace weft::timeline
