//===- Buckets.cpp - Which collectives become one call --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/Buckets.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace weft;
using namespace weft::cost;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
/// Of sums of the same numbers in another order.
constexpr double roundingError = 1e-9;

/// When the items before each place are sent at the earliest.
struct Ends {
  explicit Ends(size_t items) : end(items + 1, never), begin(items + 1) {}
  std::vector<double> end;
  /// Of the last bucket.
  std::vector<size_t> begin;

  void offer(size_t at, double seconds, size_t from) {
    if (seconds < end[at]) {
      end[at] = seconds;
      begin[at] = from;
    }
  }
};

/// Where the last of so many buckets begins, for the places that they reach:
/// with many calls, those are few.
struct LastBuckets {
  explicit LastBuckets(const Ends &ends);
  size_t at(size_t place) const { return begins[place - first]; }

  size_t first;
  std::vector<size_t> begins;
};

class BucketSearch {
public:
  BucketSearch(std::span<const double> ready, const CallSeconds &seconds);
  std::vector<size_t> run(double launchSeconds);

private:
  /// Extends buckets that end before each item by one.
  void extend(const Ends &before, Ends &after, size_t begin) const;

  std::span<const double> ready;
  /// By first item: of calls for it and those behind it.
  std::vector<std::vector<double>> calls;
};

} // namespace

LastBuckets::LastBuckets(const Ends &ends) {
  auto isReached = [](double end) { return std::isfinite(end); };
  const auto lowest = std::find_if(ends.end.begin(), ends.end.end(), isReached);
  const auto behind =
      std::find_if(ends.end.rbegin(), ends.end.rend(), isReached).base();
  first = static_cast<size_t>(lowest - ends.end.begin());
  if (lowest < behind)
    begins.assign(ends.begin.begin() + (lowest - ends.end.begin()),
                  ends.begin.begin() + (behind - ends.end.begin()));
}

BucketSearch::BucketSearch(std::span<const double> ready,
                           const CallSeconds &seconds)
    : ready(ready), calls(ready.size()) {
  for (size_t begin = 0; begin < ready.size(); ++begin)
    for (size_t end = begin + 1; end <= ready.size(); ++end) {
      const double taken = seconds(begin, end);
      if (!std::isfinite(taken))
        break;
      calls[begin].push_back(taken);
    }
}

void BucketSearch::extend(const Ends &before, Ends &after, size_t begin) const {
  if (!std::isfinite(before.end[begin]))
    return;
  for (size_t i = 0; i < calls[begin].size(); ++i)
    after.offer(begin + i + 1,
                std::max(before.end[begin], ready[begin + i]) + calls[begin][i],
                begin);
}

std::vector<size_t> BucketSearch::run(double launchSeconds) {
  const size_t items = ready.size();
  Ends first(items);
  first.end[0] = 0;
  for (size_t begin = 0; begin < items; ++begin)
    extend(first, first, begin);
  const double soonest = first.end[items] * (1 + roundingError);
  // With one call more in each round, as long as that can be better.
  Ends before(items);
  before.end[0] = 0;
  std::vector<LastBuckets> rounds;
  size_t best = 0;
  for (double least = never;
       soonest + static_cast<double>(rounds.size() + 1) * launchSeconds <
       least;) {
    Ends next(items);
    for (size_t begin = 0; begin < items; ++begin)
      extend(before, next, begin);
    rounds.emplace_back(next);
    const double total = std::max(next.end[items], soonest) +
                         static_cast<double>(rounds.size()) * launchSeconds;
    if (total < least) {
      least = total;
      best = rounds.size() - 1;
    }
    before = std::move(next);
  }
  std::vector<size_t> ends;
  for (size_t at = items; at > 0; at = rounds[best--].at(at))
    ends.push_back(at);
  std::reverse(ends.begin(), ends.end());
  return ends;
}

std::vector<size_t> cost::chooseBuckets(std::span<const double> ready,
                                        const CallSeconds &seconds,
                                        double launchSeconds) {
  return ready.empty() ? std::vector<size_t>()
                       : BucketSearch(ready, seconds).run(launchSeconds);
}

double cost::endOfBuckets(std::span<const double> ready,
                          const CallSeconds &seconds,
                          std::span<const size_t> ends) {
  double now = 0;
  size_t begin = 0;
  for (size_t end : ends) {
    now = std::max(now, ready[end - 1]) + seconds(begin, end);
    begin = end;
  }
  return now;
}
