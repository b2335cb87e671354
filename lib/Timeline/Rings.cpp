//===- Rings.cpp - Memory of one value of many micro-batches --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Rings.h"

#include "weft/Timeline/SlotUses.h"

#include <algorithm>

namespace weft::timeline {

Touches touchesOf(const Row &row, int32_t microbatches,
                  const std::function<bool(const Action &)> &touches) {
  Touches result(microbatches);
  for (size_t i = 0; i < row.size(); ++i) {
    if (!touches(row[i]))
      continue;
    if (isOnce(row[i].kind))
      for (std::vector<int32_t> &columns : result)
        columns.push_back(int32_t(i));
    else if (row[i].microbatch >= 0 && row[i].microbatch < microbatches)
      result[row[i].microbatch].push_back(int32_t(i));
  }
  return result;
}

namespace {

/// Of a micro-batch, from the first to the last column that touches its value.
struct Life {
  int32_t first = 0, last = 0, microbatch = 0;
};

} // namespace

/// Whether no two lives in one slot meet; they are in the order of their begin.
static bool fits(const std::vector<Life> &lives, int32_t depth) {
  std::vector<int32_t> endOf(depth, -1);
  for (const Life &life : lives) {
    int32_t &end = endOf[life.microbatch % depth];
    if (end >= life.first)
      return false;
    end = life.last;
  }
  return true;
}

/// The column of the computation behind a send, or the send.
static int32_t computationBehind(const Row &row, int32_t send) {
  for (size_t i = size_t(send) + 1; i < row.size(); ++i)
    if (isCompute(row[i].kind) || isLevel(row[i].kind))
      return int32_t(i);
  return send;
}

int32_t ringDepth(const Row &row, const Touches &touches, SendEnd sendEnd) {
  std::vector<Life> lives;
  for (size_t i = 0; i < touches.size(); ++i) {
    if (touches[i].empty())
      continue;
    int32_t first = touches[i].front(), last = touches[i].back();
    // The two of a pair start and end together.
    if (first > 0 && row[first - 1].overlapsNext)
      --first;
    if (sendEnd == SendEnd::BehindNext && isSend(row[last].kind))
      last = computationBehind(row, last);
    last += row[last].overlapsNext;
    lives.push_back({first, last, int32_t(i)});
  }
  if (lives.empty())
    return 0;
  std::ranges::sort(lives, {}, &Life::first);
  int32_t depth = 1;
  while (!fits(lives, depth))
    ++depth;
  return depth;
}

/// In the order of the row, for a ring that begins with slot `firstSlot`.
static std::vector<SlotUse> usesOf(const RingValue &value, int32_t firstSlot,
                                   int32_t depth) {
  std::vector<SlotUse> uses;
  for (size_t i = 0; i < value.touches.size(); ++i)
    if (!value.touches[i].empty())
      uses.push_back(
          {value.rank, firstSlot + int32_t(i) % depth, value.touches[i]});
  std::ranges::sort(uses, {}, &SlotUse::columns);
  return uses;
}

RingPlan planRings(const Table &table, const std::vector<RingValue> &values,
                   SendEnd sendEnd) {
  RingPlan plan;
  std::vector<int32_t> slots(table.rows.size(), 0);
  for (const RingValue &value : values) {
    const int32_t depth =
        ringDepth(table.rows[value.rank], value.touches, sendEnd);
    plan.depths.push_back(depth);
    for (SlotUse &use : usesOf(value, slots[value.rank], depth))
      plan.uses.push_back(std::move(use));
    slots[value.rank] += depth;
  }
  plan.waits = waitsForSlots(table, plan.uses);
  return plan;
}

} // namespace weft::timeline
