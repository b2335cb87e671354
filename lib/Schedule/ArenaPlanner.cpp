//===- ArenaPlanner.cpp - Offsets for buffers of one arena ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/ArenaPlanner.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace weft {

ArenaPeak findPeak(llvm::ArrayRef<ArenaBuffer> buffers) {
  int64_t numSteps = 0;
  for (const ArenaBuffer &buffer : buffers)
    numSteps = std::max(numSteps, buffer.last + 1);
  // A buffer enters at `first` and leaves at `last + 1`.
  std::vector<int64_t> changes(numSteps + 1);
  for (const ArenaBuffer &buffer : buffers) {
    changes[buffer.first] += alignedBytes(buffer.bytes);
    changes[buffer.last + 1] -= alignedBytes(buffer.bytes);
  }
  ArenaPeak peak;
  int64_t live = 0;
  for (int64_t step = 0; step < numSteps; ++step)
    if ((live += changes[step]) > peak.bytes)
      peak = {live, step};
  return peak;
}

int64_t livenessBound(llvm::ArrayRef<ArenaBuffer> buffers) {
  return findPeak(buffers).bytes;
}

namespace {

using Order = std::vector<int32_t>;
constexpr int64_t infinite = std::numeric_limits<int64_t>::max();

/// Where a buffer goes among the gaps that its already placed contemporaries
/// leave.
enum class Fit { LowestOffset, SmallestGap };

/// Places buffers in a given order and remembers the best layout seen.
class Placer {
public:
  explicit Placer(llvm::ArrayRef<ArenaBuffer> buffers)
      : buffers(buffers), bound(livenessBound(buffers)) {
    best.bytes = infinite;
    placed.reserve(buffers.size());
    offsets.resize(buffers.size());
  }

  bool isOptimal() const { return best.bytes == bound; }

  /// Tries one order. Gives up as soon as the arena would be higher than
  /// `limit`. True if the layout is complete.
  bool place(const Order &order, Fit fit, int64_t limit);

  /// Keeps the layout of `order` if it is lower than all before.
  void tryOrder(const Order &order, Fit fit);

  /// Moves the buffers at the top of the arena to the front of the best order
  /// until nothing more is gained or `rounds` are over.
  void improve(int64_t rounds);

  ArenaLayout takeBest() { return std::move(best); }

private:
  struct Placed {
    int64_t offset, end, first, last;
  };

  int64_t findOffset(const ArenaBuffer &buffer, int64_t bytes, Fit fit) const;

  llvm::ArrayRef<ArenaBuffer> buffers;
  int64_t bound;
  /// By offset.
  std::vector<Placed> placed;
  std::vector<int64_t> offsets;
  int64_t height = 0;

  ArenaLayout best;
  Order bestOrder;
  Fit bestFit = Fit::LowestOffset;
};

int64_t Placer::findOffset(const ArenaBuffer &buffer, int64_t bytes,
                           Fit fit) const {
  int64_t top = 0, bestOffset = 0, bestGap = infinite;
  for (const Placed &other : placed) {
    if (other.last < buffer.first || other.first > buffer.last)
      continue;
    int64_t gap = other.offset - top;
    if (gap >= bytes && gap < bestGap) {
      if (fit == Fit::LowestOffset || gap == bytes)
        return top;
      bestOffset = top;
      bestGap = gap;
    }
    top = std::max(top, other.end);
  }
  return bestGap == infinite ? top : bestOffset;
}

bool Placer::place(const Order &order, Fit fit, int64_t limit) {
  placed.clear();
  height = 0;
  for (int32_t index : order) {
    const ArenaBuffer &buffer = buffers[index];
    int64_t bytes = alignedBytes(buffer.bytes);
    int64_t offset = bytes ? findOffset(buffer, bytes, fit) : 0;
    offsets[index] = offset;
    height = std::max(height, offset + bytes);
    if (height > limit)
      return false;
    if (!bytes)
      continue;
    auto position = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [](int64_t offset, const Placed &p) { return offset < p.offset; });
    placed.insert(position,
                  {offset, offset + bytes, buffer.first, buffer.last});
  }
  return true;
}

void Placer::tryOrder(const Order &order, Fit fit) {
  if (isOptimal() || !place(order, fit, best.bytes - 1))
    return;
  best.offsets = offsets;
  best.bytes = height;
  bestOrder = order;
  bestFit = fit;
}

void Placer::improve(int64_t rounds) {
  Order order = bestOrder;
  std::vector<int64_t> tops = best.offsets;
  int64_t goal = best.bytes;
  for (int64_t round = 0; round < rounds && !isOptimal(); ++round) {
    // The buffers that stick out above the bound go first, the others keep
    // their order. Layouts of equal height are walked through as well.
    auto sticksOut = [&](int32_t index) {
      return tops[index] + alignedBytes(buffers[index].bytes) >= goal;
    };
    std::stable_partition(order.begin(), order.end(), sticksOut);
    Fit fit = round % 8 == 7 ? Fit::SmallestGap : bestFit;
    if (!place(order, fit, infinite))
      return;
    tops = offsets;
    goal = height;
    if (height < best.bytes) {
      best.offsets = offsets;
      best.bytes = height;
      bestOrder = order;
      bestFit = fit;
    }
  }
}

/// Indices of the buffers, those with the greatest key first, ties as given.
Order sortedBy(llvm::ArrayRef<ArenaBuffer> buffers,
               std::function<int64_t(size_t)> key) {
  std::vector<int64_t> keys(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i)
    keys[i] = key(i);
  Order order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return keys[a] > keys[b]; });
  return order;
}

/// For each buffer the most bytes that are alive at one step of its life: how
/// contested its time is.
std::vector<int64_t> contention(llvm::ArrayRef<ArenaBuffer> buffers) {
  std::vector<int64_t> steps;
  for (const ArenaBuffer &buffer : buffers)
    steps.push_back(buffer.first);
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  auto indexOf = [&](int64_t step) {
    return std::lower_bound(steps.begin(), steps.end(), step) - steps.begin();
  };

  // The sum of live bytes only grows at first steps, so those suffice.
  std::vector<int64_t> live(steps.size() + 1);
  for (const ArenaBuffer &buffer : buffers) {
    live[indexOf(buffer.first)] += alignedBytes(buffer.bytes);
    live[indexOf(buffer.last + 1)] -= alignedBytes(buffer.bytes);
  }
  std::partial_sum(live.begin(), live.end(), live.begin());

  // Maximum over a range by doubling: rows[k][i] covers 2^k steps from i.
  std::vector<std::vector<int64_t>> rows = {live};
  for (size_t width = 1; 2 * width <= live.size(); width *= 2) {
    const std::vector<int64_t> &row = rows.back();
    std::vector<int64_t> next(live.size() - 2 * width + 1);
    for (size_t i = 0; i < next.size(); ++i)
      next[i] = std::max(row[i], row[i + width]);
    rows.push_back(std::move(next));
  }
  std::vector<int64_t> result;
  for (const ArenaBuffer &buffer : buffers) {
    size_t begin = indexOf(buffer.first), end = indexOf(buffer.last + 1);
    size_t level = 0;
    while ((size_t(2) << level) <= end - begin)
      ++level;
    result.push_back(
        std::max(rows[level][begin], rows[level][end - (size_t(1) << level)]));
  }
  return result;
}

std::vector<Order> candidateOrders(llvm::ArrayRef<ArenaBuffer> buffers) {
  auto size = [&](size_t i) { return buffers[i].bytes; };
  auto life = [&](size_t i) { return buffers[i].last - buffers[i].first + 1; };
  std::vector<int64_t> contested = contention(buffers);
  std::vector<Order> orders;
  orders.push_back(sortedBy(buffers, size));
  orders.push_back(sortedBy(buffers, life));
  orders.push_back(sortedBy(buffers, [&](size_t i) {
    return int64_t(std::min(double(infinite / 2), double(size(i)) * life(i)));
  }));
  orders.push_back(
      sortedBy(buffers, [&](size_t i) { return -buffers[i].first; }));
  orders.push_back(
      sortedBy(buffers, [&](size_t i) { return buffers[i].last; }));
  // Contested times first; within one level of contention the large buffers.
  Order bySize = orders.front();
  std::stable_sort(bySize.begin(), bySize.end(), [&](int32_t a, int32_t b) {
    return contested[a] > contested[b];
  });
  orders.push_back(std::move(bySize));
  return orders;
}

} // namespace

ArenaLayout planArena(llvm::ArrayRef<ArenaBuffer> buffers) {
  if (buffers.empty())
    return {};
  Placer placer(buffers);
  for (const Order &order : candidateOrders(buffers))
    for (Fit fit : {Fit::LowestOffset, Fit::SmallestGap})
      placer.tryOrder(order, fit);

  // One round looks at about n^2 / 2 pairs; the budget keeps 10 000 buffers
  // below a second.
  constexpr int64_t pairBudget = 400'000'000, maxRounds = 400;
  int64_t n = buffers.size();
  placer.improve(std::min(maxRounds, pairBudget / (n * n) + 1));
  return placer.takeBest();
}

} // namespace weft
