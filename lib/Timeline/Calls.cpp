//===- Calls.cpp - The calls of a table with transfers --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/StepRows.h"

#include "QueueNames.h"

#include <algorithm>
#include <set>

namespace weft::timeline {

static size_t countActions(const Table &table) {
  size_t actions = 0;
  for (const Row &row : table.rows)
    actions += row.size();
  return actions;
}

/// Where each stage is computed. More stages than actions cannot be: the
/// numbers come from a file.
static Placement placementOf(const Table &table) {
  const size_t actions = countActions(table);
  Placement placement;
  for (size_t rank = 0; rank < table.rows.size(); ++rank)
    for (const Action &action : table.rows[rank]) {
      if (!isCompute(action.kind) || size_t(action.stage) >= actions)
        continue;
      if (size_t(action.stage) >= placement.size())
        placement.resize(action.stage + 1, -1);
      if (placement[action.stage] < 0)
        placement[action.stage] = int32_t(rank);
    }
  return placement;
}

/// The levels of a table and the once edges that it sends and receives.
static void findLevels(const Table &table, Job &job) {
  for (const Row &row : table.rows)
    for (const Action &action : row) {
      const bool isUpdate = isOfUpdate(action.kind);
      std::vector<int32_t> &levels =
          isUpdate ? job.updateLevels : job.prologueLevels;
      if (isLevel(action.kind) && size_t(action.stage) < levels.size()) {
        int32_t &count = levels[action.stage];
        count = std::max(count, action.microbatch + 1);
      }
      if (!isOnce(action.kind) || !isTransfer(action.kind))
        continue;
      const bool sends = isSend(action.kind);
      const OnceEdge edge = {sends ? action.stage : action.peer,
                             sends ? action.peer : action.stage, isUpdate,
                             action.microbatch};
      if (std::ranges::find(job.onceEdges, edge) == job.onceEdges.end())
        job.onceEdges.push_back(edge);
    }
}

namespace {

class JobMaker {
public:
  JobMaker(Communicators policy, const Placement &placement, Job &job)
      : placement(placement), queues(policy, placement), job(job) {}

  void run(const Table &table);

private:
  /// Of an edge or a once edge, or of one that is not declared.
  struct Transfer {
    int32_t source = 0, destination = 0;
    /// Of a once edge: of the update.
    bool isBackward = false;
    /// Of a once edge; else -1.
    int32_t level = -1;
    int64_t bytes = 0;
    int32_t communicator = -1;

    bool isOnce() const { return level >= 0; }
  };
  Transfer &transferOf(const Transfer &wanted);
  void declare(const Transfer &transfer);
  int32_t rankOf(int32_t stage) const {
    return stage >= 0 && size_t(stage) < placement.size() ? placement[stage]
                                                          : -1;
  }
  Call callOf(const Action &action);

  const Placement &placement;
  QueueNames queues;
  Job &job;
  /// By the source, if that is a stage.
  std::vector<std::vector<Transfer>> bySource;
  std::vector<Transfer> others;
};

} // namespace

JobMaker::Transfer &JobMaker::transferOf(const Transfer &wanted) {
  // A file may name any stage.
  std::vector<Transfer> &transfers =
      wanted.source >= 0 && size_t(wanted.source) < placement.size()
          ? bySource[wanted.source]
          : others;
  const auto it = std::ranges::find_if(transfers, [&](const Transfer &t) {
    return t.destination == wanted.destination && t.source == wanted.source &&
           t.isBackward == wanted.isBackward && t.level == wanted.level;
  });
  if (it != transfers.end())
    return *it;
  transfers.push_back(wanted);
  return transfers.back();
}

void JobMaker::declare(const Transfer &transfer) {
  Transfer &declared = transferOf(transfer);
  const int32_t from = rankOf(transfer.source);
  // Numbered as assignQueues does.
  if (from != rankOf(transfer.destination) && declared.communicator < 0)
    declared.communicator = queues.numberOf(
        transfer.source, transfer.destination, transfer.isOnce());
}

Call JobMaker::callOf(const Action &action) {
  Call call;
  call.action = action;
  if (!isTransfer(action.kind))
    return call;
  const bool once = isOnce(action.kind);
  const bool isBackward = once ? isOfUpdate(action.kind)
                               : action.kind == ActionKind::SendBackward ||
                                     action.kind == ActionKind::ReceiveBackward;
  const int32_t peer = call.action.peer = peerOf(action);
  const bool sends = isSend(action.kind);
  Transfer &transfer =
      transferOf({sends ? action.stage : peer, sends ? peer : action.stage,
                  isBackward, once ? action.microbatch : -1});
  if (transfer.communicator < 0)
    transfer.communicator =
        queues.numberOf(transfer.source, transfer.destination, once);
  call.peerRank = rankOf(peer);
  call.communicator = transfer.communicator;
  call.bytes = transfer.bytes;
  return call;
}

void JobMaker::run(const Table &table) {
  std::set<GatheredPass> gathered(job.gatheredPasses.begin(),
                                  job.gatheredPasses.end());
  bySource.resize(placement.size());
  for (const Edge &edge : job.edges)
    declare({edge.source, edge.destination, edge.isBackward, -1, edge.bytes});
  for (const OnceEdge &edge : job.onceEdges)
    declare(
        {edge.source, edge.destination, edge.isUpdate, edge.level, edge.bytes});
  job.rows.resize(table.rows.size());
  for (size_t rank = 0; rank < table.rows.size(); ++rank) {
    job.rows[rank].reserve(table.rows[rank].size());
    for (const Action &action : table.rows[rank]) {
      job.rows[rank].push_back(callOf(action));
      if (!isOnce(action.kind))
        job.microbatches = std::max(job.microbatches, action.microbatch + 1);
      if (action.kind == ActionKind::ReduceGradient &&
          std::ranges::find(job.reducedStages, action.stage) ==
              job.reducedStages.end())
        job.reducedStages.push_back(action.stage);
      if (isPassGather(action.kind))
        gathered.insert({action.stage, action.kind});
      if ((action.kind == ActionKind::Unshard ||
           action.kind == ActionKind::Reshard) &&
          std::ranges::find(job.shardedStages, action.stage) ==
              job.shardedStages.end())
        job.shardedStages.push_back(action.stage);
    }
  }
  job.gatheredPasses.assign(gathered.begin(), gathered.end());
  job.communicators = std::move(queues.names);
}

Job makeJob(const Table &table, Communicators communicators,
            std::optional<std::vector<Edge>> edges) {
  const Placement placement = placementOf(table);
  Job job;
  job.edges =
      edges ? std::move(*edges) : neighbourEdges(int32_t(placement.size()));
  job.prologueLevels.resize(placement.size());
  job.updateLevels.resize(placement.size());
  findLevels(table, job);
  JobMaker(communicators, placement, job).run(table);
  return job;
}

Job makeJob(const Table &table, const StepShape &shape, Communicators policy) {
  Job job;
  job.microbatches = shape.microbatches;
  job.edges = shape.edges;
  job.onceEdges = shape.onceEdges;
  job.prologueLevels = shape.prologueLevels;
  job.updateLevels = shape.updateLevels;
  job.shardedStages = shape.gatheredStages;
  job.gatheredPasses = shape.gatheredPasses;
  job.reducedStages = shape.reducedStages;
  JobMaker(policy, shape.placement, job).run(table);
  return job;
}

} // namespace weft::timeline
