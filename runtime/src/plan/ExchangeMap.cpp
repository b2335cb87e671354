//===- ExchangeMap.cpp - Who sends what in an exchange --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/ExchangeMap.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <optional>

namespace weft::runtime {
namespace {

/// The parts that ranks hold of the segments on one side, in the order of
/// positions: [0, size) of the first segment by rank, then the next segment.
class Parts {
public:
  Parts(const flatbuffers::Vector<int64_t> *sizes, int64_t group)
      : sizes(sizes), group(group) {}

  /// What a rank holds, or nothing if it cannot be.
  std::optional<int64_t> held() const {
    int64_t sum = 0, all = 0;
    for (uint32_t i = 0; sizes && i < sizes->size(); ++i)
      if (sizes->Get(i) < 1 ||
          __builtin_add_overflow(sum, sizes->Get(i), &sum) ||
          __builtin_mul_overflow(sum, group, &all))
        return std::nullopt;
    return sum < 1 ? std::nullopt : std::optional(sum);
  }

  struct Part {
    int rank = 0;
    /// The positions [begin, end), and the place of the first one in what the
    /// rank holds.
    int64_t begin = 0, end = 0, place = 0;
  };
  Part partOf(int64_t position) const {
    int64_t begin = 0, place = 0;
    for (const int64_t size : *sizes) {
      if (position < begin + size * group) {
        const int64_t rank = (position - begin) / size;
        return {static_cast<int>(rank), begin + rank * size,
                begin + (rank + 1) * size, place};
      }
      begin += size * group;
      place += size;
    }
    return {};
  }

private:
  const flatbuffers::Vector<int64_t> *sizes;
  int64_t group;
};

} // namespace

Status checkExchange(const plan::CollectiveStart &start, int64_t group) {
  const auto before = Parts(start.exchange_from(), group).held();
  const auto after = Parts(start.exchange_to(), group).held();
  if (!before || !after)
    return invalidArgument("an exchange needs segments before and after, of "
                           "which each rank holds at least one element");
  if (!start.exchange_runs() || start.exchange_runs()->size() == 0)
    return invalidArgument("an exchange needs runs of elements");
  std::vector<std::pair<int64_t, int64_t>> reached;
  for (const plan::ElementRun *run : *start.exchange_runs()) {
    int64_t last;
    const bool fits =
        run->length() >= 1 && run->step() != 0 &&
        !__builtin_mul_overflow(run->length() - 1, run->step(), &last) &&
        !__builtin_add_overflow(run->from(), last, &last) &&
        std::min(run->from(), last) >= 0 &&
        std::max(run->from(), last) < *before * group && run->to() >= 0 &&
        run->length() <= *after * group &&
        run->to() <= *after * group - run->length();
    if (!fits)
      return invalidArgument(fmt::format(
          "{} elements from {} by {} to {} do not fit in the {} elements "
          "before and {} after",
          run->length(), run->from(), run->step(), run->to(), *before * group,
          *after * group));
    reached.emplace_back(run->to(), run->to() + run->length());
  }
  std::sort(reached.begin(), reached.end());
  for (size_t i = 1; i < reached.size(); ++i)
    if (reached[i].first < reached[i - 1].second)
      return invalidArgument(
          fmt::format("two runs go to element {}", reached[i].first));
  return {};
}

/// Calls `visit` for every block of the group, in the order of the runs.
static void forEachBlock(const plan::CollectiveStart &start, int64_t group,
                         const std::function<void(ExchangeBlock)> &visit) {
  const Parts before(start.exchange_from(), group);
  const Parts after(start.exchange_to(), group);
  for (const plan::ElementRun *run : *start.exchange_runs()) {
    const int64_t step = run->step();
    int64_t from = run->from(), to = run->to();
    const int64_t end = to + run->length();
    while (to < end) {
      const Parts::Part source = before.partOf(from);
      const Parts::Part target = after.partOf(to);
      // Steps until the source leaves its part.
      const int64_t room = step > 0 ? (source.end - from + step - 1) / step
                                    : (from - source.begin) / -step + 1;
      const int64_t count = std::min({room, target.end - to, end - to});
      visit({.sender = source.rank,
             .receiver = target.rank,
             .source = source.place + (from - source.begin),
             .destination = target.place + (to - target.begin),
             .count = count,
             .step = step});
      from += count * step;
      to += count;
    }
  }
}

Exchange exchangeOf(const plan::CollectiveStart &start, int64_t group,
                    int64_t rank) {
  Exchange exchange{.outer = start.outer(),
                    .before = *Parts(start.exchange_from(), group).held(),
                    .after = *Parts(start.exchange_to(), group).held(),
                    .inner = start.inner(),
                    .blocks = {}};
  forEachBlock(start, group, [&](const ExchangeBlock &block) {
    if (block.sender == rank || block.receiver == rank)
      exchange.blocks.push_back(block);
  });
  return exchange;
}

int64_t mostSent(const plan::CollectiveStart &start, int64_t group) {
  std::vector<int64_t> sent(static_cast<size_t>(group));
  forEachBlock(start, group, [&](const ExchangeBlock &block) {
    if (block.sender != block.receiver)
      sent[static_cast<size_t>(block.sender)] += block.count;
  });
  return *std::max_element(sent.begin(), sent.end());
}

} // namespace weft::runtime
