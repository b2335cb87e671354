//===- LoweredOrder.cpp - An order that holds less ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules of priority know nothing of what is alive. Where the most is, what
// frees memory goes ahead of what takes some, as long as that is worth the
// time: the gradient of a weight, the last to read what was gathered, before
// the gradient of its operand, which is sent meanwhile.
//
//===----------------------------------------------------------------------===//

#include "Lifetimes.h"
#include "MemoryPrice.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>

using namespace weft;

namespace {

/// How far from the peak is looked, in actions, and for how many that free or
/// take most.
constexpr size_t reach = 64, mostLookedAt = 6;
/// Moves of an order.
constexpr int mostMoves = 16;

class PeakLowering {
public:
  PeakLowering(llvm::ArrayRef<Step> steps, llvm::ArrayRef<Action> actions)
      : steps(steps), order(actions), first(costOf(steps, actions)) {}

  std::vector<Action> run();

private:
  /// How much worse an order is than the first one.
  double rate(llvm::ArrayRef<Action> actions) const {
    const OrderCost cost = costOf(steps, actions);
    return worseBy(double(cost.picoseconds) / double(first.picoseconds),
                   cost.bytes, first.bytes);
  }
  bool improve();
  std::vector<size_t> findFreeing(const Lifetimes &lives, size_t peak) const;
  std::vector<size_t> findTaking(const Lifetimes &lives, size_t peak) const;
  std::optional<std::vector<Action>> moveAhead(size_t action,
                                               size_t other) const;

  llvm::ArrayRef<Step> steps;
  std::vector<Action> order;
  OrderCost first;
};

} // namespace

static std::vector<size_t>
takeLargest(std::vector<std::pair<int64_t, size_t>> found) {
  llvm::stable_sort(
      found, [](const auto &a, const auto &b) { return a.first > b.first; });
  std::vector<size_t> actions;
  for (const auto &[bytes, action] :
       llvm::ArrayRef(found).take_front(mostLookedAt))
    actions.push_back(action);
  return actions;
}

/// Actions from the peak on that free more than they take of what is alive at
/// it.
std::vector<size_t> PeakLowering::findFreeing(const Lifetimes &lives,
                                              size_t peak) const {
  const size_t end = std::min(peak + reach, order.size());
  std::vector<int64_t> freed(end - peak);
  for (size_t step = 0; step < steps.size(); ++step) {
    const size_t begin = lives.beginOf(step), last = lives.lastUseOf(step);
    if (begin < peak && last >= peak && last < end)
      freed[last - peak] += steps[step].bytes;
    if (begin >= peak && begin < end)
      freed[begin - peak] -= steps[step].bytes;
  }
  std::vector<std::pair<int64_t, size_t>> found;
  for (size_t i = peak; i < end; ++i)
    if (freed[i - peak] > 0)
      found.push_back({freed[i - peak], i});
  return takeLargest(std::move(found));
}

/// Actions up to the peak from which on something is alive at it.
std::vector<size_t> PeakLowering::findTaking(const Lifetimes &lives,
                                             size_t peak) const {
  const size_t first = peak < reach ? 0 : peak - reach;
  std::vector<int64_t> taken(peak + 1 - first);
  for (size_t step = 0; step < steps.size(); ++step)
    if (const size_t begin = lives.beginOf(step);
        begin >= first && begin <= peak && lives.lastUseOf(step) >= peak)
      taken[begin - first] += steps[step].bytes;
  std::vector<std::pair<int64_t, size_t>> found;
  for (size_t i = first; i <= peak; ++i)
    if (taken[i - first] > 0)
      found.push_back({taken[i - first], i});
  return takeLargest(std::move(found));
}

/// With an action, and what it waits for, before another one; none if it waits
/// for that.
std::optional<std::vector<Action>> PeakLowering::moveAhead(size_t action,
                                                           size_t other) const {
  std::vector<bool> isNeeded(steps.size());
  std::vector<size_t> moved;
  auto move = [&](size_t i) {
    moved.push_back(i);
    isNeeded[order[i].step] = true;
    if (!order[i].isWait)
      for (int32_t operand : steps[order[i].step].operands)
        isNeeded[operand] = true;
  };
  move(action);
  for (size_t i = action; i-- > other;)
    if (isNeeded[order[i].step])
      move(i);
  if (moved.back() == other)
    return std::nullopt;
  std::vector<Action> result(order.begin(), order.begin() + other);
  for (size_t i : llvm::reverse(moved))
    result.push_back(order[i]);
  for (size_t i = other; i < order.size(); ++i)
    if (!moved.empty() && moved.back() == i)
      moved.pop_back();
    else
      result.push_back(order[i]);
  return result;
}

/// Makes the best move at the peak; whether it gains something.
bool PeakLowering::improve() {
  const Lifetimes lives(steps, order);
  const Lifetimes::Peak peak = lives.peak();
  double least = rate(order);
  std::vector<Action> best;
  const std::vector<size_t> allTaking = findTaking(lives, peak.action);
  for (size_t freeing : findFreeing(lives, peak.action))
    for (size_t taking : allTaking) {
      auto moved = taking < freeing ? moveAhead(freeing, taking) : std::nullopt;
      if (!moved)
        continue;
      const double rated = rate(*moved);
      if (!(rated < least)) // or no number, where nothing takes time
        continue;
      least = rated;
      best = std::move(*moved);
    }
  if (best.empty())
    return false;
  order = std::move(best);
  return true;
}

std::vector<Action> PeakLowering::run() {
  for (int moves = 0; moves < mostMoves && improve(); ++moves)
    ;
  return std::move(order);
}

std::vector<Action> weft::loweredOrder(llvm::ArrayRef<Step> steps,
                                       llvm::ArrayRef<Action> actions) {
  return PeakLowering(steps, actions).run();
}
