//===- Bubbles.cpp - When ranks of a pipeline have no work ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/Bubbles.h"

#include "weft/runtime/plan_generated.h"

#include <algorithm>
#include <span>
#include <tuple>

namespace weft::runtime {

/// Between two segments a rank walks its timeline, which is no bubble.
static constexpr std::chrono::microseconds shortest(1);

/// A segment on a micro-batch.
struct Work {
  uint32_t entry, microbatch;
  std::chrono::steady_clock::time_point begin, end;
};

static std::vector<Work> workOf(const plan::Plan &plan,
                                std::span<const TraceEvent> events) {
  std::vector<Work> all;
  for (const TraceEvent &event : events)
    if (event.action && plan.entries()->Get(event.entry)->role())
      all.push_back(
          {event.entry, event.action->microbatch, event.begin, event.end});
  std::ranges::stable_sort(all, {}, &Work::begin);
  // An event of a whole segment, and those of its instructions.
  std::vector<Work> joined;
  for (const Work &work : all)
    if (!joined.empty() &&
        std::tie(joined.back().entry, joined.back().microbatch) ==
            std::tie(work.entry, work.microbatch))
      joined.back().end = std::max(joined.back().end, work.end);
    else
      joined.push_back(work);
  return joined;
}

static std::span<const TraceEvent> eventsOf(const TraceTrack &track,
                                            size_t run) {
  if (run >= track.runs.size())
    return {};
  const size_t end =
      run + 1 < track.runs.size() ? track.runs[run + 1] : track.events.size();
  return std::span(track.events)
      .subspan(track.runs[run], end - track.runs[run]);
}

std::vector<std::vector<Bubble>>
findBubbles(const plan::Plan &plan,
            const std::vector<const RankTrace *> &ranks) {
  std::vector<std::vector<Bubble>> bubbles(ranks.size());
  size_t runs = 0;
  for (const RankTrace *rank : ranks)
    runs = std::max(runs, rank->compute.runs.size());
  for (size_t run = 0; run < runs; ++run) {
    std::vector<std::vector<Work>> works;
    auto first = std::chrono::steady_clock::time_point::max();
    auto last = std::chrono::steady_clock::time_point::min();
    for (const RankTrace *rank : ranks)
      for (const Work &work :
           works.emplace_back(workOf(plan, eventsOf(rank->compute, run)))) {
        first = std::min(first, work.begin);
        last = std::max(last, work.end);
      }
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      if (works[rank].empty())
        continue;
      auto done = first;
      const auto add = [&](auto until) {
        if (until - done >= shortest)
          bubbles[rank].push_back({done, until});
      };
      for (const Work &work : works[rank]) {
        add(work.begin);
        done = std::max(done, work.end);
      }
      add(last);
    }
  }
  return bubbles;
}

} // namespace weft::runtime
