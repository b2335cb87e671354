//===- ProgramCalls.cpp - The collectives that choices lead to ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramCalls.h"

#include "weft/Cost/CombinedCalls.h"

#include <array>

using namespace mlir;
using namespace weft;

ProgramCalls::Version ProgramCalls::addOp(Operation *op,
                                          ArrayRef<Version> operands,
                                          Mobility mobility) {
  const size_t position = steps.size();
  Step &step = steps.emplace_back();
  step.canFollow = mobility.canFollow;
  bool isEarly = mobility.canBeEarly;
  for (const Version &operand : operands) {
    isEarly = isEarly && operand.ready == 0;
    step.follows = step.follows || (mobility.canFollow && operand.moves);
    if (operand.maker >= 0)
      step.operands.push_back(operand.maker);
  }
  stepOf[op] = static_cast<int32_t>(position);
  return {isEarly ? 0 : position + 1, static_cast<int32_t>(position),
          step.follows};
}

/// What needs a collective, or what follows one, stays behind where it stands.
ProgramCalls::Version
ProgramCalls::addCalls(Value value, ArrayRef<ReshardPrices::Call> added,
                       const Version &source, double weight, double runs) {
  if (added.empty())
    return source;
  const size_t position = steps.size();
  Step &step = steps.emplace_back();
  step.isCall = true;
  if (source.maker >= 0)
    step.operands.push_back(source.maker);
  for (const ReshardPrices::Call &call : added)
    calls.push_back({value, call, runs, source.moves ? position : source.ready,
                     static_cast<int32_t>(position),
                     call.latencySeconds * weight});
  return {position + 1, static_cast<int32_t>(position), /*moves=*/true};
}

void ProgramCalls::finish() {
  for (size_t position = steps.size(); position-- > 0;) {
    const Step &step = steps[position];
    const size_t last = step.follows ? step.latest : position - 1;
    for (int32_t operand : step.operands)
      steps[operand].latest = std::min(steps[operand].latest, last);
  }
}

/// What a loop calls joins nothing outside of it.
static int64_t kindOf(const ReshardPrices::Call &call, double runs) {
  return 2 * int64_t(call.combinable) + (runs > 1);
}

static bool isSum(const ReshardPrices::Call &call) {
  return call.kind == cost::CollectiveKind::AllReduce;
}

ProgramCalls::Latency ProgramCalls::countedLatency() const {
  std::vector<cost::PendingCall> sums, others;
  int64_t numAlone = 0;
  for (const Call &each : calls) {
    const int64_t kind =
        each.call.combinable < 0 ? -++numAlone : kindOf(each.call, each.runs);
    (isSum(each.call) ? sums : others)
        .push_back({kind, each.earliest, steps[each.step].latest,
                    each.countedLatency});
  }
  const double ofSums = cost::combinedLatency(std::move(sums));
  return {ofSums + cost::combinedLatency(std::move(others)), ofSums};
}

/// The calls that a step follows, directly or behind others that do.
llvm::SmallDenseSet<int32_t> ProgramCalls::callsFollowedBy(int32_t step) const {
  llvm::SmallDenseSet<int32_t> found, seen{step};
  SmallVector<int32_t> left{step};
  while (!left.empty()) {
    const int32_t next = left.pop_back_val();
    if (steps[next].isCall)
      found.insert(next);
    else if (steps[next].follows)
      for (int32_t operand : steps[next].operands)
        if (seen.insert(operand).second)
          left.push_back(operand);
  }
  return found;
}

std::vector<int32_t> ProgramCalls::joinedBy(Value value, Operation *user,
                                            bool isInLoop) const {
  auto version = versionOf.find(value);
  auto number = stepOf.find(user);
  if (version == versionOf.end() || number == stepOf.end())
    return {};
  const auto &[ready, maker, moves] = version->second;
  const Step &step = steps[number->second];
  // In front of the op that needs it, or of what that waits for with it.
  const size_t before = static_cast<size_t>(std::max(number->second, 1)) - 1;
  const size_t latest = step.canFollow ? std::max(step.latest, before) : before;
  const size_t earliest = std::min(moves ? before : ready, latest);
  llvm::SmallDenseSet<int32_t> needed;
  if (moves)
    needed = callsFollowedBy(maker);
  // Without and with the call: what it needs has to be before it.
  std::map<int32_t, std::array<std::vector<cost::PendingCall>, 2>> sums;
  for (const Call &each : calls) {
    if (!isSum(each.call) || (each.runs > 1) != isInLoop || each.value == value)
      continue;
    auto &[without, with] = sums[each.call.combinable];
    without.push_back({0, each.earliest, steps[each.step].latest, 1});
    with.push_back(without.back());
    if (needed.contains(each.step))
      with.back().latest = std::max(with.back().earliest,
                                    std::min(with.back().latest, earliest - 1));
  }
  std::vector<int32_t> joined;
  for (auto &[combinable, pending] : sums) {
    auto &[without, with] = pending;
    with.push_back({0, earliest, latest, 1});
    if (cost::combinedLatency(std::move(with)) <=
        cost::combinedLatency(std::move(without)))
      joined.push_back(combinable);
  }
  return joined;
}
