//===- RegisterTable.cpp - Registers and their offsets in a warp's file ---===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegisterTable.h"
#include "Liveness.h"

#include <algorithm>
#include <array>

namespace weft::emulator {

Value RegisterTable::preloaded(const Preload &preload) {
  auto key = std::tuple(preload.kind, preload.size, preload.value);
  auto [entry, isNew] = known.try_emplace(key, 0);
  if (isNew) {
    entry->second = add(preload.size).index;
    preloads.push_back({preload, entry->second});
  }
  return {entry->second};
}

/// Bytes of a register of `size` bytes a lane.
static uint32_t fileBytes(uint32_t size) {
  return size == 0 ? sizeof(Mask) : size * warpSize;
}

void RegisterTable::allocate(Program &program) const {
  std::vector<Interval> intervals = computeIntervals(program, sizes.size());
  std::vector<uint32_t> places(sizes.size());
  // Registers that are filled before the start keep their offsets.
  uint32_t end = 0;
  auto fresh = [&end](uint32_t size) {
    uint32_t bytes = fileBytes(size), place = end;
    end += (bytes + 63) / 64 * 64;
    return place;
  };
  std::vector<bool> isPreloaded(sizes.size());
  for (auto [preload, index] : preloads) {
    isPreloaded[index] = true;
    preload.offset = places[index] = fresh(preload.size);
    program.preloads.push_back(preload);
  }
  // The others in the order in which they begin; offsets of ended ones are
  // taken again by registers of the same size.
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < sizes.size(); ++i)
    if (!isPreloaded[i] && intervals[i].isUsed())
      order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return intervals[a].first < intervals[b].first;
  });
  std::array<std::vector<uint32_t>, 9> free;
  std::multimap<uint32_t, uint32_t> active;
  for (uint32_t index : order) {
    while (!active.empty() && active.begin()->first < intervals[index].first) {
      uint32_t ended = active.begin()->second;
      free[sizes[ended]].push_back(places[ended]);
      active.erase(active.begin());
    }
    std::vector<uint32_t> &choices = free[sizes[index]];
    if (choices.empty()) {
      places[index] = fresh(sizes[index]);
    } else {
      places[index] = choices.back();
      choices.pop_back();
    }
    active.emplace(intervals[index].last, index);
  }
  for (Op &op : program.code) {
    for (uint32_t k = 0; k < op.count; ++k)
      op.operands[k] = places[op.operands[k]];
    if (op.guard != Op::noGuard)
      op.guard = places[op.guard];
  }
  program.registerBytes = end;
}

} // namespace weft::emulator
