//===- PlannedSchedule.cpp - The schedule of a plan's rows ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlannedSchedule.h"

#include "weft/Timeline/LowerBound.h"
#include "weft/Timeline/TableRules.h"

#include <map>
#include <set>

namespace weft {

using timeline::Action;
using timeline::ActionKind;
using timeline::Row;
using timeline::Table;

namespace {

/// Which passes the stages of a table have.
class Passes {
public:
  explicit Passes(const Table &table) {
    for (const Row &row : table.rows)
      for (const Action &action : row)
        passes.insert({action.stage, action.kind});
  }
  bool has(int32_t stage, ActionKind kind) const {
    return passes.contains({stage, kind});
  }

private:
  std::set<std::pair<int32_t, ActionKind>> passes;
};

} // namespace

/// A published schedule as a plan has it: nothing overlaps, a stage whose
/// backward pass is split has it in halves always, every pass goes through the
/// micro-batches in order, and what nobody computes is left out.
static Table asPlanned(const Table &published, const Passes &planned) {
  const Passes passes(published);
  std::map<std::pair<int32_t, ActionKind>, int32_t> next;
  Table table;
  for (const Row &row : published.rows) {
    Row &out = table.rows.emplace_back();
    auto add = [&](Action action, ActionKind kind) {
      action.kind = kind;
      action.microbatch = next[{action.stage, kind}]++;
      action.overlapsNext = false;
      if (planned.has(action.stage, kind))
        out.push_back(action);
    };
    for (const Action &action : row)
      if (action.kind == ActionKind::Backward &&
          passes.has(action.stage, ActionKind::InputGradient)) {
        add(action, ActionKind::InputGradient);
        add(action, ActionKind::WeightGradient);
      } else {
        add(action, action.kind);
      }
  }
  return table;
}

/// The first published one that has these rows.
static std::string findName(const Table &table,
                            const timeline::Extent &extent) {
  const Passes planned(table);
  const int32_t chunks = extent.stages / table.ranks();
  for (const timeline::NamedSchedule &schedule : timeline::namedSchedules()) {
    timeline::GeneratedTable published = timeline::generate(
        schedule.name, {table.ranks(), extent.microbatches, chunks});
    if (chunks > 0 && published.error.empty() &&
        asPlanned(published.table, planned) == table)
      return std::string(schedule.name);
  }
  return "table";
}

/// Adds the passes that every stage has by the rules of tables.
static Table complete(const Table &table, const timeline::Extent &extent) {
  const Passes passes(table);
  Table full;
  for (int32_t rank = 0; rank < table.ranks(); ++rank) {
    Row &row = full.rows.emplace_back();
    for (Action action : table.rows[rank]) {
      const ActionKind kind = action.kind;
      auto addMissing = [&](ActionKind half, ActionKind other) {
        action.kind = other;
        if (kind == half && !passes.has(action.stage, other))
          row.push_back(action);
      };
      addMissing(ActionKind::WeightGradient, ActionKind::InputGradient);
      action.kind = kind;
      row.push_back(action);
      addMissing(ActionKind::InputGradient, ActionKind::WeightGradient);
    }
    for (int32_t stage = extent.stages; stage-- > 0;)
      if (extent.placement[stage] == rank &&
          !passes.has(stage, ActionKind::Backward) &&
          !passes.has(stage, ActionKind::InputGradient) &&
          !passes.has(stage, ActionKind::WeightGradient))
        for (int32_t i = 0; i < extent.microbatches; ++i)
          row.push_back({stage, ActionKind::Backward, i});
  }
  return full;
}

std::optional<timeline::TimedSchedule>
findPlannedSchedule(const Table &table, timeline::Costs costs) {
  timeline::TimedSchedule schedule;
  const timeline::Extent planned = timeline::extentOf(table);
  schedule.table = complete(table, planned);
  if (planned.stages == 0 || !timeline::findProblems(schedule.table).empty())
    return std::nullopt;
  schedule.name = findName(table, planned);
  schedule.costs = std::move(costs);
  for (timeline::StageCosts &stage : schedule.costs.stages)
    stage.activation = double(table.ranks()) / planned.stages;
  std::optional<timeline::Timing> timing =
      timeTable(schedule.table, schedule.costs);
  if (!timing)
    return std::nullopt;
  schedule.timing = std::move(*timing);
  schedule.extent = timeline::extentOf(schedule.table);
  const auto &[stages, microbatches, placement, splits] = schedule.extent;
  schedule.lowerBound =
      lowerBound(placement, microbatches, schedule.costs, splits);
  return schedule;
}

} // namespace weft
