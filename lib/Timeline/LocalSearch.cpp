//===- LocalSearch.cpp - Moves single actions -----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalSearch.h"

#include "Simulation.h"
#include "Times.h"

#include <algorithm>

namespace weft::timeline {
namespace {

/// A stretch of a row whose actions follow each other without a gap on a
/// critical path.
struct Block {
  int32_t rank = 0;
  size_t begin = 0, end = 0;
};

/// The action at `from` goes to `to`, those between make room.
struct Move {
  int32_t rank = 0;
  size_t from = 0, to = 0;
};

class LocalSearch {
public:
  LocalSearch(Table table, const Costs &costs, double limit, int64_t work)
      : table(std::move(table)), costs(costs), limit(limit), work(work) {
    for (const Row &row : this->table.rows)
      actions += int64_t(row.size());
  }

  Table run() {
    std::optional<Timing> timing = time();
    while (timing && work > 0) {
      std::optional<Timing> better = improve(*timing);
      if (!better)
        break;
      timing = std::move(better);
    }
    return std::move(table);
  }

private:
  std::optional<Timing> time() {
    work -= actions;
    return timeTable(table, costs);
  }

  std::optional<Timing> improve(const Timing &timing);
  std::vector<Block> findCriticalBlocks(const Timing &timing) const;
  std::vector<Move> findMoves(const Timing &timing) const;
  bool isAllowed(const Move &move) const;
  void apply(const Move &move);
  bool fits(int32_t rank) const;

  Table table;
  const Costs &costs;
  double limit;
  int64_t work;
  int64_t actions = 0;
};

/// Makes the first move that shortens the step.
std::optional<Timing> LocalSearch::improve(const Timing &timing) {
  for (const Move &move : findMoves(timing)) {
    if (work <= 0)
      break;
    if (!isAllowed(move))
      continue;
    apply(move);
    if (fits(move.rank)) {
      std::optional<Timing> moved = time();
      if (moved && moved->makespan < timing.makespan - roundingError)
        return moved;
    }
    apply({move.rank, move.to, move.from});
  }
  return std::nullopt;
}

/// From the end of the step backwards: as long as an action started when the
/// one before it on its rank ended, it is of the same block.
std::vector<Block> LocalSearch::findCriticalBlocks(const Timing &timing) const {
  // Where the actions stand that others need.
  const Extent extent = extentOf(table);
  struct Place {
    int32_t rank = -1;
    size_t index = 0;
  };
  std::vector<Place> forwards(size_t(extent.stages) * extent.microbatches);
  std::vector<Place> backwards(forwards.size());
  int32_t rank = 0;
  size_t index = 0;
  double end = -1;
  for (int32_t r = 0; r < table.ranks(); ++r)
    for (size_t i = 0; i < table.rows[r].size(); ++i) {
      const Action &action = table.rows[r][i];
      const size_t at =
          size_t(action.stage) * extent.microbatches + action.microbatch;
      if (action.kind == ActionKind::Forward)
        forwards[at] = {r, i};
      else if (action.kind != ActionKind::WeightGradient)
        backwards[at] = {r, i};
      if (timing.rows[r][i].end > end) {
        end = timing.rows[r][i].end;
        rank = r;
        index = i;
      }
    }
  std::vector<Block> blocks = {{rank, index, index + 1}};
  while (timing.rows[rank][index].start > roundingError) {
    const double start = timing.rows[rank][index].start;
    if (index > 0 && timing.rows[rank][index - 1].end > start - roundingError) {
      blocks.back().begin = --index;
      continue;
    }
    const Action &action = table.rows[rank][index];
    const bool isForward = action.kind == ActionKind::Forward;
    const int32_t source = isForward ? action.stage - 1 : action.stage + 1;
    if (source < 0 || source >= extent.stages)
      break;
    const Place &producer =
        (isForward ? forwards
                   : backwards)[size_t(source) * extent.microbatches +
                                action.microbatch];
    rank = producer.rank;
    index = producer.index;
    blocks.push_back({rank, index, index + 1});
  }
  return blocks;
}

std::vector<Move> LocalSearch::findMoves(const Timing &timing) const {
  std::vector<Move> moves;
  for (const auto &[rank, begin, end] : findCriticalBlocks(timing)) {
    // The last action of a block is what the next rank waits for, so that
    // moving others behind it makes it earlier; the same for the first.
    for (size_t i = end - 1; i-- > begin;)
      moves.push_back({rank, i, end - 1});
    for (size_t i = end - 1; i-- > begin;)
      moves.push_back({rank, end - 1, i});
    for (size_t i = begin + 1; i + 1 < end; ++i)
      moves.push_back({rank, i, begin});
    for (size_t i = begin; i + 1 < end; ++i)
      moves.push_back({rank, i, i + 1});
  }
  return moves;
}

/// Whether none of the actions that change places needs another of them on the
/// rank itself; the simulation would find out late.
bool LocalSearch::isAllowed(const Move &move) const {
  const Row &row = table.rows[move.rank];
  const Action &moved = row[move.from];
  const auto [low, high] = std::minmax(move.from, move.to);
  for (size_t i = low; i <= high; ++i) {
    if (row[i].overlapsNext || (i > 0 && row[i - 1].overlapsNext))
      return false;
    if (i == move.from)
      continue;
    // Micro-batches of a stage stay in their order in each kind.
    const bool isSame = row[i].stage == moved.stage;
    if (isSame &&
        (row[i].kind == moved.kind || row[i].microbatch == moved.microbatch))
      return false;
  }
  return true;
}

void LocalSearch::apply(const Move &move) {
  const auto row = table.rows[move.rank].begin();
  if (move.from < move.to)
    std::rotate(row + move.from, row + move.from + 1, row + move.to + 1);
  else
    std::rotate(row + move.to, row + move.from, row + move.from + 1);
}

bool LocalSearch::fits(int32_t rank) const {
  KeptMemory kept(costs);
  return std::ranges::all_of(table.rows[rank], [&](const Action &action) {
    return kept.run(action) <= limit + roundingError;
  });
}

} // namespace

Table improveTable(Table table, const Costs &costs, double limit,
                   int64_t work) {
  return LocalSearch(std::move(table), costs, limit, work).run();
}

} // namespace weft::timeline
