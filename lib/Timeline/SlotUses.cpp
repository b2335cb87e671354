//===- SlotUses.cpp - Memory of micro-batches in flight -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/SlotUses.h"

#include <algorithm>
#include <map>
#include <set>

namespace weft::timeline {

/// By stage and micro-batch, what the row does for it.
static std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>>
columnsOf(const Row &row) {
  std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>> columns;
  for (size_t i = 0; i < row.size(); ++i)
    if (row[i].microbatch >= 0 && !isOnce(row[i].kind))
      columns[{row[i].stage, row[i].microbatch}].push_back(int32_t(i));
  return columns;
}

/// The end of a pair is that of both: until then neither gives up its slot.
static int32_t endOf(const Row &row, int32_t column) {
  return column + row[column].overlapsNext;
}

SlotPlan planSlots(const Table &table, bool shared) {
  SlotPlan result;
  for (size_t rank = 0; rank < table.rows.size(); ++rank) {
    const Row &row = table.rows[rank];
    const auto columns = columnsOf(row);
    std::map<int32_t, std::set<int32_t>> freeOf; // by stage, or all by 0
    // What becomes free behind a column.
    std::map<int32_t, std::vector<std::pair<int32_t, int32_t>>> endingAt;
    int32_t count = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      const Action &action = row[i];
      const std::pair owner(action.stage, action.microbatch);
      const auto use = columns.find(owner);
      if (use != columns.end() && use->second.front() == int32_t(i)) {
        const int32_t pool = shared ? 0 : action.stage;
        std::set<int32_t> &freeSlots = freeOf[pool];
        if (freeSlots.empty())
          freeSlots.insert(count++);
        const int32_t slot = *freeSlots.begin();
        freeSlots.erase(freeSlots.begin());
        if (size_t(action.stage) >= result.slotOf.size())
          result.slotOf.resize(action.stage + 1);
        std::vector<int32_t> &slots = result.slotOf[action.stage];
        if (size_t(action.microbatch) >= slots.size())
          slots.resize(action.microbatch + 1, -1);
        slots[action.microbatch] = slot;
        result.uses.push_back({int32_t(rank), slot, use->second});
        endingAt[endOf(row, use->second.back())].push_back({pool, slot});
      }
      for (const auto &[pool, slot] : endingAt[int32_t(i)])
        freeOf[pool].insert(slot);
    }
    result.counts.push_back(count);
  }
  return result;
}

std::vector<Wait> waitsForSlots(const Table &table,
                                const std::vector<SlotUse> &uses) {
  // What used each slot of each rank last.
  std::map<std::pair<int32_t, int32_t>, const SlotUse *> last;
  std::vector<Wait> waits;
  for (const SlotUse &use : uses) {
    const SlotUse *&before = last[{use.rank, use.slot}];
    const Row &row = table.rows[use.rank];
    const int32_t write = use.columns.front();
    if (before) {
      // Computation is in order, and what it needs has been received: the last
      // one stands for all before it that is no send.
      int32_t computation = -1;
      for (int32_t column : before->columns)
        if (!isTransfer(row[column].kind))
          computation = column;
      for (int32_t column : before->columns)
        if (isSend(row[column].kind) || column > computation)
          waits.push_back({use.rank, write, column});
      if (computation >= 0 && isTransfer(row[write].kind))
        waits.push_back({use.rank, write, computation});
    }
    before = &use;
  }
  return waits;
}

std::vector<Wait> waitsOfWalk(const Job &job, const std::vector<Wait> &waits) {
  std::vector<std::map<int32_t, std::vector<int32_t>>> awaitedBy(
      job.rows.size());
  for (const Wait &wait : waits)
    awaitedBy[wait.rank][wait.waiting].push_back(wait.awaited);
  std::vector<Wait> result;
  for (size_t rank = 0; rank < job.rows.size(); ++rank) {
    const std::vector<Call> &row = job.rows[rank];
    // What the calls behind the last computation have waited for, that first:
    // it stands for all that it and the calls before it waited for.
    std::vector<int32_t> awaited;
    // By communicator.
    std::map<int32_t, int32_t> lastOfQueue;
    for (size_t i = 0; i < row.size(); ++i) {
      const int32_t column = int32_t(i);
      if (const auto own = awaitedBy[rank].find(column);
          own != awaitedBy[rank].end())
        awaited.insert(awaited.end(), own->second.begin(), own->second.end());
      const bool isTransferred = isTransfer(row[i].action.kind);
      if (isTransferred) {
        const auto [last, isFirst] =
            lastOfQueue.try_emplace(row[i].communicator, column);
        if (!isFirst &&
            std::ranges::find(awaited, last->second) == awaited.end())
          awaited.push_back(last->second);
        last->second = column;
      }
      for (int32_t other : awaited)
        result.push_back({int32_t(rank), column, other});
      const bool isFirstOfPair = row[i].action.overlapsNext;
      if (!isTransferred && !isFirstOfPair &&
          !canBeDeferred(row[i].action.kind))
        awaited = {column};
    }
  }
  return result;
}

} // namespace weft::timeline
