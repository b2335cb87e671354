//===- ReservedOrder.cpp - An order that leaves links to what is urgent ---===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/OverlapOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>

using namespace weft;

namespace {

/// When a resource is free, by the begin of each interval.
class FreeTimes {
public:
  /// The earliest time from `ready` on at which it is for so long, which it is
  /// not any more then.
  int64_t take(int64_t ready, int64_t duration);

private:
  std::map<int64_t, int64_t> ends{{0, std::numeric_limits<int64_t>::max()}};
};

} // namespace

int64_t FreeTimes::take(int64_t ready, int64_t duration) {
  auto free = ends.upper_bound(ready);
  if (free != ends.begin())
    --free;
  while (free->second - std::max(free->first, ready) < duration)
    ++free;
  const auto [first, last] = *free;
  const int64_t begin = std::max(first, ready);
  if (begin > first)
    free->second = begin;
  else
    ends.erase(free);
  if (begin + duration < last)
    ends[begin + duration] = last;
  return begin;
}

/// When each step begins, those with more priority placed first.
static std::vector<int64_t> placeSteps(llvm::ArrayRef<Step> steps,
                                       llvm::ArrayRef<int64_t> priorities,
                                       std::vector<int64_t> &ready) {
  std::vector<int32_t> order(steps.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](int32_t a, int32_t b) {
    return priorities[a] > priorities[b];
  });
  std::map<int32_t, FreeTimes> resources;
  std::vector<int64_t> begins(steps.size());
  for (int32_t index : order) {
    const Step &step = steps[index];
    for (int32_t operand : step.operands)
      ready[index] =
          std::max(ready[index], begins[operand] + steps[operand].picoseconds);
    begins[index] = step.picoseconds == 0
                        ? ready[index]
                        : resources[step.isCollective ? step.link : -1].take(
                              ready[index], step.picoseconds);
  }
  return begins;
}

/// By when each step is issued: a collective before the step that is computed
/// when it begins, in the order of its links.
static std::vector<int64_t> findIssues(llvm::ArrayRef<Step> steps,
                                       llvm::ArrayRef<int64_t> begins,
                                       llvm::ArrayRef<int64_t> ready) {
  std::map<int64_t, int64_t> computed;
  std::vector<int32_t> collectives;
  for (auto [index, step] : llvm::enumerate(steps))
    if (step.isCollective)
      collectives.push_back(int32_t(index));
    else if (step.picoseconds > 0)
      computed[begins[index]] = begins[index] + step.picoseconds;
  llvm::stable_sort(
      collectives, [&](int32_t a, int32_t b) { return begins[a] < begins[b]; });
  std::vector<int64_t> issues(begins.begin(), begins.end());
  std::map<int32_t, int64_t> links;
  for (int32_t index : collectives) {
    int64_t &issue = issues[index], &last = links[steps[index].link];
    auto beside = computed.upper_bound(issue);
    if (beside != computed.begin() && (--beside)->second > issue)
      issue = std::max(beside->first, ready[index]);
    last = issue = std::max(issue, last);
  }
  return issues;
}

std::vector<Action> weft::reservedOrder(llvm::ArrayRef<Step> steps,
                                        llvm::ArrayRef<int64_t> priorities) {
  std::vector<int64_t> ready(steps.size());
  const std::vector<int64_t> begins = placeSteps(steps, priorities, ready);
  const std::vector<int64_t> issues = findIssues(steps, begins, ready);
  std::vector<std::vector<int32_t>> users(steps.size());
  std::vector<int32_t> missing(steps.size());
  for (auto [index, step] : llvm::enumerate(steps))
    for (int32_t operand : step.operands) {
      users[operand].push_back(int32_t(index));
      ++missing[index];
    }
  // At one time collectives first.
  using Entry = std::tuple<int64_t, bool, int64_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
  auto add = [&](int32_t index) {
    next.emplace(issues[index],
                 !steps[index].isCollective && steps[index].picoseconds > 0,
                 begins[index], index);
  };
  for (auto [index, count] : llvm::enumerate(missing))
    if (count == 0)
      add(int32_t(index));
  std::vector<Action> actions;
  std::vector<bool> waited(steps.size());
  auto wait = [&](int32_t index) {
    if (steps[index].isCollective && !waited[index])
      actions.push_back({index, /*isWait=*/true});
    waited[index] = true;
  };
  while (!next.empty()) {
    const int32_t index = std::get<3>(next.top());
    next.pop();
    for (int32_t operand : steps[index].operands)
      wait(operand);
    actions.push_back({index});
    for (int32_t user : users[index])
      if (--missing[user] == 0)
        add(user);
  }
  for (size_t index = 0; index < steps.size(); ++index)
    wait(int32_t(index));
  return actions;
}
