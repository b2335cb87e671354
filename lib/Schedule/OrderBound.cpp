//===- OrderBound.cpp - What no order of a program can be below -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/OrderBound.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <queue>

namespace weft {

/// The resource of a step: -1 computes, others are levels of links.
static int32_t resourceOf(const Step &step) {
  return step.isCollective ? step.link : -1;
}

/// When the steps of one resource, interrupted where that is better, and what
/// is behind each of them can be over.
static int64_t endOf(llvm::ArrayRef<Step> steps, std::vector<int32_t> jobs,
                     llvm::ArrayRef<int64_t> heads,
                     llvm::ArrayRef<int64_t> tails) {
  llvm::stable_sort(jobs,
                    [&](int32_t a, int32_t b) { return heads[a] < heads[b]; });
  // By tail, what is left of the steps that could run.
  std::priority_queue<std::pair<int64_t, int64_t>> ready;
  int64_t now = 0, end = 0;
  for (size_t next = 0; next < jobs.size() || !ready.empty();) {
    if (ready.empty())
      now = std::max(now, heads[jobs[next]]);
    for (; next < jobs.size() && heads[jobs[next]] <= now; ++next)
      ready.push({tails[jobs[next]], steps[jobs[next]].picoseconds});
    auto [tail, left] = ready.top();
    ready.pop();
    const int64_t until = next < jobs.size()
                              ? std::min(now + left, heads[jobs[next]])
                              : now + left;
    left -= until - now;
    now = until;
    if (left > 0)
      ready.push({tail, left});
    else
      end = std::max(end, now + tail);
  }
  return end;
}

/// Of all resources.
static int64_t longestOf(llvm::ArrayRef<Step> steps,
                         std::map<int32_t, std::vector<int32_t>> jobs,
                         llvm::ArrayRef<int64_t> heads,
                         llvm::ArrayRef<int64_t> tails) {
  int64_t longest = 0;
  for (auto &[resource, own] : jobs)
    longest = std::max(longest, endOf(steps, std::move(own), heads, tails));
  return longest;
}

/// For each step when it can begin, given for each step those right before it
/// and behind it, in an order in which the former come first.
static std::vector<int64_t>
findHeads(llvm::ArrayRef<Step> steps, llvm::ArrayRef<int32_t> order,
          llvm::ArrayRef<std::vector<int32_t>> before,
          llvm::ArrayRef<std::vector<int32_t>> behind) {
  std::vector<int64_t> heads(steps.size()), paths(steps.size());
  std::vector<llvm::BitVector> leading(steps.size());
  for (auto [index, step] : llvm::enumerate(order)) {
    llvm::BitVector &own = leading[step];
    own.resize(steps.size());
    for (int32_t other : before[step]) {
      heads[step] =
          std::max(heads[step], heads[other] + steps[other].picoseconds);
      own |= leading[other];
      own.set(other);
    }
    if (before[step].size() < 2)
      continue;
    // The longest paths from what leads to the step.
    std::map<int32_t, std::vector<int32_t>> jobs;
    for (int32_t other : llvm::reverse(order.take_front(index))) {
      if (!own.test(other))
        continue;
      paths[other] = 0;
      for (int32_t next : behind[other])
        if (own.test(next))
          paths[other] =
              std::max(paths[other], paths[next] + steps[next].picoseconds);
      jobs[resourceOf(steps[other])].push_back(other);
    }
    for (auto &[resource, leads] : jobs)
      heads[step] =
          std::max(heads[step], endOf(steps, std::move(leads), heads, paths));
  }
  return heads;
}

int64_t leastTime(llvm::ArrayRef<Step> steps) {
  std::vector<std::vector<int32_t>> before(steps.size()), behind(steps.size());
  std::vector<int32_t> order(steps.size());
  for (int32_t step = 0; step < int32_t(steps.size()); ++step) {
    order[step] = step;
    for (int32_t operand : steps[step].operands) {
      before[step].push_back(operand);
      behind[operand].push_back(step);
    }
  }
  const std::vector<int64_t> heads = findHeads(steps, order, before, behind);
  std::reverse(order.begin(), order.end());
  const std::vector<int64_t> tails = findHeads(steps, order, behind, before);
  std::map<int32_t, std::vector<int32_t>> jobs;
  for (int32_t step = 0; step < int32_t(steps.size()); ++step)
    jobs[resourceOf(steps[step])].push_back(step);
  return longestOf(steps, std::move(jobs), heads, tails);
}

int64_t leastTimeByPaths(llvm::ArrayRef<Step> steps) {
  std::vector<int64_t> heads(steps.size()), tails(steps.size());
  std::map<int32_t, std::vector<int32_t>> jobs;
  for (int32_t step = 0; step < int32_t(steps.size()); ++step) {
    for (int32_t operand : steps[step].operands)
      heads[step] =
          std::max(heads[step], heads[operand] + steps[operand].picoseconds);
    jobs[resourceOf(steps[step])].push_back(step);
  }
  for (int32_t step = int32_t(steps.size()); step-- > 0;)
    for (int32_t operand : steps[step].operands)
      tails[operand] =
          std::max(tails[operand], tails[step] + steps[step].picoseconds);
  return longestOf(steps, std::move(jobs), heads, tails);
}

} // namespace weft
