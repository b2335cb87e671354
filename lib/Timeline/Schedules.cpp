//===- Schedules.cpp - Published pipeline schedules -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Schedules.h"

#include "Generators.h"

#include <algorithm>
#include <array>

namespace weft::timeline {

/// What tables may have at most, so that a mistyped number is an error and not
/// a machine without memory.
static constexpr int64_t mostActions = 20'000'000;

static bool hasOneChunk(ScheduleSize size) { return size.chunks == 1; }

static bool hasChunks(ScheduleSize) { return true; }

static bool hasTwoChunks(ScheduleSize size) { return size.chunks == 2; }

static bool fillsPipelineTwice(ScheduleSize size) {
  return size.chunks == 1 && size.microbatches >= 2 * size.ranks - 1;
}

static int32_t rounds(ScheduleSize size) {
  return std::max(1, size.microbatches / size.ranks);
}

static bool hasEqualGroups(ScheduleSize size) {
  return size.microbatches % rounds(size) == 0;
}

static bool fillsBothDirections(ScheduleSize size) {
  return size.chunks == 2 && size.microbatches >= 2 * size.ranks;
}

static constexpr std::string_view oneChunk = "chunks = 1";
static constexpr std::string_view twoChunks = "chunks = 2";
static constexpr std::string_view equalGroups =
    "multiples of max(1, floor(microbatches / ranks)) as microbatches";

static constexpr std::array<NamedSchedule, 12> schedules = {{
    {"gpipe", "all forwards, then all backwards", oneChunk, Fold::Loop, 1,
     false, hasOneChunk, gpipe},
    {"1f1b", "one forward, one backward", oneChunk, Fold::Loop, 1, false,
     hasOneChunk, oneForwardOneBackward},
    {"eager-1f1b",
     "1f1b with twice the forwards before the first backward, which hides "
     "transfers",
     oneChunk, Fold::Loop, 1, false, hasOneChunk, eagerOneForwardOneBackward},
    {"interleaved-1f1b", "1f1b with several stages per rank", equalGroups,
     Fold::Loop, 2, false, hasEqualGroups, interleaved},
    {"looped-bfs",
     "several stages per rank, all micro-batches of a stage in a row",
     "every size", Fold::Loop, 2, false, hasChunks, loopedBreadthFirst},
    {"zb-h1", "1f1b with weight gradients in the bubble, in the memory of 1f1b",
     oneChunk, Fold::Loop, 1, true, hasOneChunk, zeroBubbleH1},
    {"zb-h2", "no bubble for twice the memory of 1f1b",
     "chunks = 1 and microbatches >= 2 * ranks - 1", Fold::Loop, 1, true,
     fillsPipelineTwice, zeroBubbleH2},
    {"interleaved-zb", "zb-h1 with several stages per rank", equalGroups,
     Fold::Loop, 2, true, hasEqualGroups, interleavedZeroBubble},
    {"zb-v", "no bubble in the memory of 1f1b where F, I and W take as long",
     twoChunks, Fold::V, 2, true, hasTwoChunks, zeroBubbleV},
    {"v-half", "half of the memory of 1f1b", twoChunks, Fold::V, 2, true,
     hasTwoChunks, vHalf},
    {"v-min", "a third of the memory of 1f1b", twoChunks, Fold::V, 2, true,
     hasTwoChunks, vMin},
    {"dualpipev", "forwards that overlap backwards",
     "chunks = 2 and microbatches >= 2 * ranks", Fold::V, 2, true,
     fillsBothDirections, dualPipeV},
}};

std::span<const NamedSchedule> namedSchedules() { return schedules; }

const NamedSchedule *findSchedule(std::string_view name) {
  // What most call it.
  if (name == "interleaved")
    name = "interleaved-1f1b";
  for (const NamedSchedule &schedule : schedules)
    if (schedule.name == name)
      return &schedule;
  return nullptr;
}

int32_t groupSize(ScheduleSize size) {
  return size.microbatches / rounds(size);
}

Placement placementOf(Fold fold, int32_t ranks, int32_t chunks) {
  Placement placement(size_t(ranks) * chunks);
  for (int32_t stage = 0; stage < int32_t(placement.size()); ++stage) {
    const int32_t inTurn = stage % ranks;
    const bool isBackwards = fold == Fold::V && stage / ranks % 2 == 1;
    placement[stage] = isBackwards ? ranks - 1 - inTurn : inTurn;
  }
  return placement;
}

static std::string allNames() {
  std::string names;
  for (const NamedSchedule &schedule : schedules)
    names += (names.empty() ? "" : ", ") + std::string(schedule.name);
  return names;
}

static std::string print(ScheduleSize size) {
  return "ranks = " + std::to_string(size.ranks) +
         ", microbatches = " + std::to_string(size.microbatches) +
         " and chunks = " + std::to_string(size.chunks);
}

/// The numbers of micro-batches next to those of `size` that a schedule admits.
static std::string printAdmitted(const NamedSchedule &schedule,
                                 ScheduleSize size) {
  std::string admitted;
  auto tryOthers = [&](int32_t step) {
    ScheduleSize other = size;
    // Groups and ways to fill a pipeline are of no more than two of its
    // lengths.
    for (int32_t i = 0; i <= 2 * size.ranks && other.microbatches + step > 0;
         ++i) {
      other.microbatches += step;
      if (schedule.doesAdmit(other)) {
        admitted += (admitted.empty() ? "; microbatches = " : " or ") +
                    std::to_string(other.microbatches);
        return;
      }
    }
  };
  tryOthers(-1);
  tryOthers(1);
  return admitted + (admitted.empty() ? "" : " would do");
}

GeneratedTable generate(std::string_view name, ScheduleSize size) {
  const NamedSchedule *schedule = findSchedule(name);
  if (!schedule)
    return {{},
            "unknown schedule \"" + std::string(name) + "\"; there are " +
                allNames()};
  if (size.chunks == 0)
    size.chunks = schedule->defaultChunks;
  if (size.ranks < 1 || size.microbatches < 1 || size.chunks < 1)
    return {{},
            "ranks, microbatches and chunks must be at least 1, got " +
                print(size)};
  if (size.ranks > mostRanks)
    return {{},
            "a pipeline must have at most " + std::to_string(mostRanks) +
                " ranks, got " + print(size)};
  const int64_t perMicrobatch = 3 * int64_t(size.ranks) * size.chunks;
  if (perMicrobatch > mostActions / size.microbatches)
    return {{},
            "a table must have at most " + std::to_string(mostActions) +
                " actions, which is fewer than it takes for " + print(size)};
  if (!schedule->doesAdmit(size))
    return {{},
            "schedule " + std::string(name) + " admits " +
                std::string(schedule->admits) + ", got " + print(size) +
                printAdmitted(*schedule, size)};
  return {schedule->generate(size), ""};
}

} // namespace weft::timeline
