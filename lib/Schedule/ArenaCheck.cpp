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

std::string describe(llvm::ArrayRef<ArenaBuffer> buffers,
                     const ArenaLayout &layout, size_t i) {
  return llvm::formatv("buffer {0} (bytes [{1}, {2}), steps [{3}, {4}])", i,
                       layout.offsets[i], layout.offsets[i] + buffers[i].bytes,
                       buffers[i].first, buffers[i].last);
}

/// Errors of single buffers.
void checkPlaces(llvm::ArrayRef<ArenaBuffer> buffers, const ArenaLayout &layout,
                 std::vector<std::string> &errors) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (layout.offsets[i] < 0 || layout.offsets[i] % arenaAlignment != 0)
      errors.push_back(llvm::formatv("{0} does not start at a multiple of {1}",
                                     describe(buffers, layout, i),
                                     arenaAlignment));
    if (layout.offsets[i] + buffers[i].bytes > layout.bytes)
      errors.push_back(llvm::formatv("{0} ends above the arena of {1} bytes",
                                     describe(buffers, layout, i),
                                     layout.bytes));
  }
}

} // namespace

std::vector<std::string> checkArena(llvm::ArrayRef<ArenaBuffer> buffers,
                                    const ArenaLayout &layout) {
  if (layout.offsets.size() != buffers.size())
    return {llvm::formatv("expected {0} offsets, got {1}", buffers.size(),
                          layout.offsets.size())};
  std::vector<std::string> errors;
  checkPlaces(buffers, layout, errors);

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
  auto endOf = [&](size_t i) { return layout.offsets[i] + buffers[i].bytes; };
  auto nextLeaving = leaving.begin();
  for (auto [step, i] : arriving) {
    for (; nextLeaving != leaving.end() && nextLeaving->first < step;
         ++nextLeaving) {
      auto it = live.find(layout.offsets[nextLeaving->second]);
      if (it != live.end() && it->second == nextLeaving->second)
        live.erase(it);
    }
    auto above = live.lower_bound(layout.offsets[i]);
    const size_t *clash = nullptr;
    if (above != live.end() && above->first < endOf(i))
      clash = &above->second;
    else if (above != live.begin() &&
             endOf(std::prev(above)->second) > layout.offsets[i])
      clash = &std::prev(above)->second;
    if (clash)
      errors.push_back(llvm::formatv("{0} overlaps {1}",
                                     describe(buffers, layout, i),
                                     describe(buffers, layout, *clash)));
    else
      live.emplace(layout.offsets[i], i);
  }
  return errors;
}

} // namespace weft
