//===- ArenaCheck.cpp - What a layout of an arena must satisfy ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sweep over the steps with the set of live byte ranges in order of offset.
// If two ranges overlap, then two neighbours do.
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/ArenaPlanner.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace weft {

namespace {

class ArenaCheck {
public:
  ArenaCheck(llvm::ArrayRef<ArenaBuffer> buffers, const ArenaLayout &layout,
             llvm::function_ref<std::string(size_t)> nameOf)
      : buffers(buffers), layout(layout), nameOf(nameOf) {}

  std::vector<ArenaProblem> run();

private:
  void checkPlaces();
  void checkOverlaps();
  void reportOverlap(size_t i, size_t other);
  int64_t endOf(size_t i) const { return layout.offsets[i] + buffers[i].bytes; }
  std::string describe(size_t i) const {
    return llvm::formatv("{0} [{1}, {2})", nameOf(i), layout.offsets[i],
                         endOf(i));
  }
  template <typename... Values>
  void report(size_t buffer, const char *format, Values &&...values) {
    problems.push_back({buffer, llvm::formatv(format, values...).str()});
  }

  llvm::ArrayRef<ArenaBuffer> buffers;
  const ArenaLayout &layout;
  llvm::function_ref<std::string(size_t)> nameOf;
  std::vector<ArenaProblem> problems;
};

} // namespace

/// Errors of single buffers.
void ArenaCheck::checkPlaces() {
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (layout.offsets[i] < 0 || layout.offsets[i] % arenaAlignment != 0)
      report(i, "buffer {0} does not start at a multiple of {1}", describe(i),
             arenaAlignment);
    if (endOf(i) > layout.bytes)
      report(i, "buffer {0} ends above the arena of {1} bytes", describe(i),
             layout.bytes);
  }
}

/// The lower one is named first.
void ArenaCheck::reportOverlap(size_t i, size_t other) {
  bool isBelow = layout.offsets[i] < layout.offsets[other];
  int64_t from = std::max(buffers[i].first, buffers[other].first);
  int64_t to = std::min(buffers[i].last, buffers[other].last);
  std::string when = llvm::formatv("at instruction {0}", from);
  if (from != to)
    when = llvm::formatv("from instruction {0} to {1}", from, to);
  report(i, "buffers {0} and {1} overlap while both are alive {2}",
         describe(isBelow ? i : other), describe(isBelow ? other : i), when);
}

void ArenaCheck::checkOverlaps() {
  std::multimap<int64_t, size_t> arriving, leaving;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].bytes == 0)
      continue;
    arriving.emplace(buffers[i].first, i);
    leaving.emplace(buffers[i].last, i);
  }
  // Live buffers by offset; a buffer that overlaps a live one is reported and
  // left out.
  std::map<int64_t, size_t> live;
  auto nextLeaving = leaving.begin();
  for (auto [step, i] : arriving) {
    for (; nextLeaving != leaving.end() && nextLeaving->first < step;
         ++nextLeaving) {
      auto it = live.find(layout.offsets[nextLeaving->second]);
      if (it != live.end() && it->second == nextLeaving->second)
        live.erase(it);
    }
    auto above = live.lower_bound(layout.offsets[i]);
    if (above != live.end() && above->first < endOf(i))
      reportOverlap(i, above->second);
    else if (above != live.begin() &&
             endOf(std::prev(above)->second) > layout.offsets[i])
      reportOverlap(i, std::prev(above)->second);
    else
      live.emplace(layout.offsets[i], i);
  }
}

std::vector<ArenaProblem> ArenaCheck::run() {
  if (layout.offsets.size() != buffers.size()) {
    report(0, "expected {0} offsets, got {1}", buffers.size(),
           layout.offsets.size());
    return std::move(problems);
  }
  checkPlaces();
  checkOverlaps();
  return std::move(problems);
}

std::vector<ArenaProblem>
checkArena(llvm::ArrayRef<ArenaBuffer> buffers, const ArenaLayout &layout,
           llvm::function_ref<std::string(size_t)> nameOf) {
  return ArenaCheck(buffers, layout, nameOf).run();
}

} // namespace weft
