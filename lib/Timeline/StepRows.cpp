//===- StepRows.cpp - All that the ranks of a step do ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/StepRows.h"

#include "QueueNames.h"

#include "weft/Timeline/ParameterActions.h"

#include <algorithm>
#include <set>

namespace weft::timeline {

static const std::vector<int32_t> &levelsOf(const StepShape &shape,
                                            bool isUpdate) {
  return isUpdate ? shape.updateLevels : shape.prologueLevels;
}

static std::string findProblem(const StepShape &shape) {
  std::set<std::tuple<bool, int32_t, int32_t, int32_t>> seen;
  for (const auto &[source, destination, isUpdate, level, bytes] :
       shape.onceEdges) {
    const std::vector<int32_t> &levels = levelsOf(shape, isUpdate);
    const auto isStage = [&](int32_t stage) {
      return stage >= 0 && size_t(stage) < shape.placement.size();
    };
    const std::string what = std::string(isUpdate ? "update" : "prologue") +
                             " level " + std::to_string(level) + " of stage " +
                             std::to_string(source) + ", sent to stage " +
                             std::to_string(destination);
    if (!isStage(source) || !isStage(destination) || level < 0 ||
        size_t(source) >= levels.size() || level >= levels[source])
      return what + ", does not exist";
    if (!seen.insert({isUpdate, source, destination, level}).second)
      return what + ", is sent there twice";
  }
  return "";
}

/// In one order of the whole job: a level of all stages, then what they
/// exchange, each message at both of its ends at once.
static void addLevels(Table &table, const StepShape &shape, bool isUpdate) {
  const std::vector<int32_t> &levels = levelsOf(shape, isUpdate);
  const int32_t most = levels.empty() ? 0 : std::ranges::max(levels);
  const auto add = [&](const Action &action) {
    table.rows[shape.placement[action.stage]].push_back(action);
  };
  for (int32_t level = 0; level < most; ++level) {
    for (size_t stage = 0; stage < levels.size(); ++stage)
      if (level < levels[stage])
        add({int32_t(stage),
             isUpdate ? ActionKind::Update : ActionKind::Prologue, level});
    for (const OnceEdge &edge : shape.onceEdges) {
      if (edge.isUpdate != isUpdate || edge.level != level ||
          !shape.crossesRanks(edge.source, edge.destination))
        continue;
      add({edge.source,
           isUpdate ? ActionKind::SendUpdate : ActionKind::SendPrologue, level,
           false, edge.destination});
      add({edge.destination,
           isUpdate ? ActionKind::ReceiveUpdate : ActionKind::ReceivePrologue,
           level, false, edge.source});
    }
  }
}

TransferredTable makeStepRows(const Table &compute, const StepShape &shape,
                              Receives receives) {
  TransferredTable result;
  result.error = findProblem(shape);
  if (!result.error.empty())
    return result;
  Table reducing;
  for (const Row &row : compute.rows)
    reducing.rows.push_back(addFirstGathers(
        addGradientReductions(addPassGathers(row, shape.gatheredPasses),
                              shape.microbatches, shape.reducedStages),
        shape.gatheredStages));
  TransferredTable microbatches =
      addTransfers(reducing, shape.placement, shape.edges, receives);
  if (!microbatches.error.empty())
    return microbatches;
  result.table.rows.resize(compute.rows.size());
  addLevels(result.table, shape, /*isUpdate=*/false);
  for (size_t rank = 0; rank < compute.rows.size(); ++rank) {
    const Row &row = microbatches.table.rows[rank];
    result.table.rows[rank].insert(result.table.rows[rank].end(), row.begin(),
                                   row.end());
  }
  addLevels(result.table, shape, /*isUpdate=*/true);
  return result;
}

StepQueues assignQueues(const StepShape &shape, Communicators policy) {
  QueueNames queues(policy, shape.placement);
  StepQueues result;
  const auto queueOf = [&](int32_t source, int32_t destination, bool isOnce) {
    return shape.crossesRanks(source, destination)
               ? queues.numberOf(source, destination, isOnce)
               : -1;
  };
  for (const Edge &edge : shape.edges)
    result.ofEdge.push_back(queueOf(edge.source, edge.destination, false));
  for (const OnceEdge &edge : shape.onceEdges)
    result.ofOnceEdge.push_back(queueOf(edge.source, edge.destination, true));
  result.names = std::move(queues.names);
  return result;
}

} // namespace weft::timeline
