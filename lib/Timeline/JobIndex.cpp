//===- JobIndex.cpp - Where the checker finds actions ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JobIndex.h"

#include "weft/Timeline/Counted.h"

#include <algorithm>

namespace weft::timeline {

constexpr int64_t shownProblems = 100;

std::string shown(const Action &action) {
  if (isOnce(action.kind))
    return print(action);
  Action neighbour = action;
  neighbour.peer = -1;
  return print(action.peer == peerOf(neighbour) ? neighbour : action);
}

std::string place(int32_t rank, int32_t column) {
  return std::to_string(rank + 1) + ":" + std::to_string(column + 1);
}

std::string describe(const JobIndex &index, int32_t rank, int32_t column) {
  const std::string line =
      index.job.lineOf ? index.job.lineOf(index.at(rank, column)) : "";
  return shown(index.at(rank, column)) + " (" + place(rank, column) +
         (line.empty() ? "" : ", " + line) + ")";
}

void JobIndex::fail(Condition condition, int32_t rank, int32_t column,
                    std::string text) {
  if (++verdict.problemCount <= shownProblems)
    verdict.problems.push_back({condition, rank, column, std::move(text)});
}

int32_t JobIndex::edgeOf(const Action &action) const {
  if (isOnce(action.kind)) {
    const bool sends = isSend(action.kind);
    const OnceEdge wanted = {sends ? action.stage : action.peer,
                             sends ? action.peer : action.stage,
                             isOfUpdate(action.kind), action.microbatch};
    const StageEdges &edges = edgesOf[action.stage];
    for (int32_t edge : sends ? edges.onceOut : edges.onceIn) {
      OnceEdge found = onceEdge(edge);
      found.bytes = 0;
      if (found == wanted)
        return edge;
    }
    return nowhere;
  }
  const bool isBackward = action.kind == ActionKind::SendBackward ||
                          action.kind == ActionKind::ReceiveBackward;
  if (isSend(action.kind)) {
    for (int32_t edge : edgesOf[action.stage].out[isBackward])
      if (job.edges[edge].destination == action.peer)
        return edge;
    return nowhere;
  }
  for (int32_t edge : edgesOf[action.stage].in[isBackward])
    if (job.edges[edge].source == action.peer)
      return edge;
  return nowhere;
}

int32_t JobIndex::producerOf(int32_t message) const {
  const int32_t edge = edgeOfMessage(message);
  if (isOnceEdge(edge)) {
    const OnceEdge &once = onceEdge(edge);
    return (once.isUpdate ? update : prologue)[once.source][once.level];
  }
  return made(job.edges[edge].isBackward)[size_t(source(edge)) * microbatches +
                                          message % microbatches];
}

int32_t JobIndex::consumerOf(int32_t message) const {
  const int32_t edge = edgeOfMessage(message);
  if (!isOnceEdge(edge))
    return made(
        job.edges[edge].isBackward)[size_t(destination(edge)) * microbatches +
                                    message % microbatches];
  const OnceEdge &once = onceEdge(edge);
  const std::vector<int32_t> &levels =
      (once.isUpdate ? update : prologue)[once.destination];
  if (size_t(once.level) + 1 < levels.size())
    return levels[once.level + 1];
  return once.isUpdate ? nowhere : firstColumn[once.destination];
}

std::span<const JobIndex::OnceEnd>
JobIndex::endsAt(const std::vector<std::vector<OnceEnd>> &ends, int32_t rank,
                 int32_t column) {
  const auto found =
      std::ranges::equal_range(ends[rank], column, {}, &OnceEnd::column);
  return {found.begin(), found.end()};
}

/// Counts stages and micro-batches. Fails where the arrays by stage and
/// micro-batch would be larger than the job: most of it is missing then.
static bool countStages(JobIndex &index) {
  int64_t stages = 0, microbatches = index.job.microbatches, actions = 0;
  for (const Edge &edge : index.job.edges)
    stages = std::max<int64_t>(
        stages, std::max<int64_t>(edge.source, edge.destination) + 1);
  for (const OnceEdge &edge : index.job.onceEdges)
    stages = std::max<int64_t>(
        stages, std::max<int64_t>(edge.source, edge.destination) + 1);
  stages = std::max({stages, int64_t(index.job.prologueLevels.size()),
                     int64_t(index.job.updateLevels.size())});
  for (size_t rank = 0; rank < index.job.rows.size(); ++rank) {
    for (const Call &call : index.job.rows[rank]) {
      const ActionKind kind = call.action.kind;
      stages = std::max<int64_t>(stages, int64_t(call.action.stage) + 1);
      if (!isOnce(kind))
        microbatches = std::max<int64_t>(microbatches,
                                         int64_t(call.action.microbatch) + 1);
      index.hasBackward |= isCompute(kind) && kind != ActionKind::Forward;
    }
    actions += int64_t(index.job.rows[rank].size());
  }
  index.verdict.actions = actions;
  const int64_t needed = stages * std::max<int64_t>(microbatches, 1);
  if (needed > actions) {
    index.fail(Condition::Order, nowhere, nowhere,
               counted(stages, "stage") + " and " +
                   counted(microbatches, "micro-batch", "micro-batches") +
                   " need " + counted(needed, "forward") +
                   "; actions in all: " + std::to_string(actions));
    return false;
  }
  index.stages = index.verdict.stages = int32_t(stages);
  index.microbatches = index.verdict.microbatches = int32_t(microbatches);
  return true;
}

/// Makes room for the levels. Fails where that would be more than the job has.
static bool countLevels(JobIndex &index) {
  const auto resize = [&](std::vector<std::vector<int32_t>> &columns,
                          const std::vector<int32_t> &levels) {
    int64_t sum = 0;
    for (int32_t count : levels)
      sum += std::max(count, 0);
    if (sum > index.verdict.actions) {
      index.fail(Condition::Order, nowhere, nowhere,
                 counted(sum, "level") +
                     " in a prologue or an update; "
                     "actions in all: " +
                     std::to_string(index.verdict.actions));
      return false;
    }
    index.verdict.levels += sum;
    columns.resize(index.stages);
    for (size_t stage = 0; stage < levels.size(); ++stage)
      columns[stage].assign(std::max(levels[stage], 0), nowhere);
    return true;
  };
  return resize(index.prologue, index.job.prologueLevels) &&
         resize(index.update, index.job.updateLevels);
}

/// Whether the numbers of all edges are within those of the job.
static bool areEdgesInRange(JobIndex &index) {
  for (const Edge &edge : index.job.edges)
    if (edge.source < 0 || edge.destination < 0) {
      index.fail(Condition::Order, nowhere, nowhere,
                 "an edge must have a source and a destination");
      return false;
    }
  for (const OnceEdge &edge : index.job.onceEdges) {
    const auto &levels = edge.isUpdate ? index.update : index.prologue;
    if (edge.source >= 0 && edge.destination >= 0 && edge.level >= 0 &&
        size_t(edge.level) < levels[edge.source].size())
      continue;
    index.fail(Condition::Order, nowhere, nowhere,
               "stage " + std::to_string(edge.source) + " has no level " +
                   std::to_string(edge.level) + " of " +
                   (edge.isUpdate ? "an update" : "a prologue") +
                   " to send to stage " + std::to_string(edge.destination));
    return false;
  }
  const int64_t messages =
      int64_t(index.job.edges.size()) * index.microbatches +
      int64_t(index.job.onceEdges.size());
  if (messages > INT32_MAX)
    index.fail(Condition::Order, nowhere, nowhere,
               std::to_string(index.job.edges.size()) + " edges and " +
                   std::to_string(index.microbatches) +
                   " micro-batches are too many");
  return messages <= INT32_MAX;
}

/// Remembers where an action is, unless it is somewhere already.
static void record(JobIndex &index, std::vector<int32_t> &columns, size_t key,
                   int32_t rank, int32_t column) {
  if (columns[key] == nowhere) {
    columns[key] = column;
    return;
  }
  index.fail(Condition::Order, rank, column,
             shown(index.at(rank, column)) + " repeats " +
                 shown(index.at(rank, columns[key])) + " at " +
                 place(rank, columns[key]));
}

static void indexComputation(JobIndex &index, int32_t rank, int32_t column) {
  const Action &action = index.at(rank, column);
  int32_t &owner = index.rankOf[action.stage];
  if (owner == nowhere)
    owner = rank;
  if (owner != rank) {
    index.fail(Condition::Order, rank, column,
               shown(action) + " belongs on rank " + std::to_string(owner) +
                   ", which computes stage " + std::to_string(action.stage));
    return;
  }
  int32_t &first = index.firstColumn[action.stage];
  if (first == nowhere)
    first = column;
  index.lastColumn[action.stage] = column;
  const size_t key =
      size_t(action.stage) * index.microbatches + action.microbatch;
  const ActionKind kind = action.kind;
  if (kind == ActionKind::Forward)
    record(index, index.forward, key, rank, column);
  if (kind == ActionKind::Backward || kind == ActionKind::InputGradient)
    record(index, index.inputGradient, key, rank, column);
  if (kind == ActionKind::Backward || kind == ActionKind::WeightGradient)
    record(index, index.weightGradient, key, rank, column);
}

static void indexLevel(JobIndex &index, int32_t rank, int32_t column) {
  const Action &action = index.at(rank, column);
  std::vector<int32_t> &columns =
      (isOfUpdate(action.kind) ? index.update : index.prologue)[action.stage];
  int32_t &owner = index.rankOf[action.stage];
  if (owner == nowhere)
    owner = rank;
  if (size_t(action.microbatch) >= columns.size())
    index.fail(Condition::Order, rank, column,
               shown(action) + " is unexpected: the stage has " +
                   std::to_string(columns.size()) + " such levels");
  else if (owner != rank)
    index.fail(Condition::Order, rank, column,
               shown(action) + " belongs on rank " + std::to_string(owner) +
                   ", which computes stage " + std::to_string(action.stage));
  else
    record(index, columns, size_t(action.microbatch), rank, column);
}

static void indexTransfer(JobIndex &index, int32_t rank, int32_t column) {
  const Call &call = index.job.rows[rank][column];
  const Action &action = call.action;
  const int32_t edge = index.edgeOf(action);
  const std::string peer = std::to_string(action.peer);
  if (edge == nowhere || !index.crossesRanks(edge)) {
    const std::string stages =
        isSend(action.kind) ? std::to_string(action.stage) + " to " + peer
                            : peer + " to " + std::to_string(action.stage);
    index.fail(
        Condition::Order, rank, column,
        shown(action) + " is unexpected: stage " + stages +
            (edge == nowhere ? " exchange nothing" : " are on the same rank"));
    return;
  }
  const int32_t owner = index.rankOf[action.stage];
  if (owner == nowhere || index.rankOf[action.peer] == nowhere)
    return; // All computation of a stage is missing, which is said once.
  if (owner != rank) {
    index.fail(Condition::Order, rank, column,
               shown(action) + " belongs on rank " + std::to_string(owner) +
                   ", which computes stage " + std::to_string(action.stage));
    return;
  }
  if (call.peerRank != index.rankOf[action.peer]) {
    index.fail(Condition::C1, rank, column,
               shown(action) + " names rank " + std::to_string(call.peerRank) +
                   ", but stage " + peer + " is on rank " +
                   std::to_string(index.rankOf[action.peer]));
    return;
  }
  record(index, isSend(action.kind) ? index.send : index.receive,
         index.messageOf(action), rank, column);
}

/// Whether the numbers of a call are within those of the job.
static bool isInRange(JobIndex &index, int32_t rank, int32_t column) {
  const Call &call = index.job.rows[rank][column];
  const Action &action = call.action;
  const bool needsMicrobatch =
      isOfMicrobatch(action.kind) || isOnce(action.kind);
  const bool isRight =
      action.stage >= 0 && (!needsMicrobatch || action.microbatch >= 0) &&
      (!isTransfer(action.kind) ||
       (call.communicator >= 0 &&
        size_t(call.communicator) < index.job.communicators.size()));
  if (!isRight)
    index.fail(Condition::Order, rank, column,
               shown(action) + " lacks a stage, micro-batch or communicator");
  return isRight;
}

/// The two of a pair that runs together compute, and nothing is left alone.
static void checkPair(JobIndex &index, int32_t rank, int32_t column) {
  const std::vector<Call> &row = index.job.rows[rank];
  const Action &action = row[column].action;
  const bool isPair = size_t(column) + 1 < row.size() &&
                      isCompute(action.kind) &&
                      isCompute(row[column + 1].action.kind) &&
                      !row[column + 1].action.overlapsNext;
  if (!isPair)
    index.fail(Condition::Order, rank, column,
               shown(action) + " has no computation to run together with");
}

static void requireAll(JobIndex &index, const std::vector<int32_t> &columns,
                       ActionKind kind, const char *or_) {
  for (size_t key = 0; key < columns.size(); ++key) {
    if (columns[key] != nowhere)
      continue;
    const int32_t stage = int32_t(key / index.microbatches);
    const int32_t microbatch = int32_t(key % index.microbatches);
    std::string text = shown({stage, kind, microbatch});
    if (*or_)
      text += " or " + shown({stage, ActionKind::Backward, microbatch});
    index.fail(Condition::Order, index.rankOf[stage], nowhere,
               text + " is missing");
  }
}

static void requireLevels(JobIndex &index) {
  for (int32_t stage = 0; stage < index.stages; ++stage)
    for (const auto &[columns, kind] :
         {std::pair(&index.prologue[stage], ActionKind::Prologue),
          std::pair(&index.update[stage], ActionKind::Update)})
      for (size_t level = 0; level < columns->size(); ++level)
        if ((*columns)[level] == nowhere)
          index.fail(Condition::Order, index.rankOf[stage], nowhere,
                     shown({stage, kind, int32_t(level)}) + " is missing");
}

/// Of a message, its calls at either end.
static void requireMessage(JobIndex &index, int32_t message, const Action &send,
                           const Action &receive) {
  if (index.send[message] == nowhere)
    index.fail(Condition::C1, index.sender(message), nowhere,
               shown(send) + " is missing");
  if (index.receive[message] == nowhere)
    index.fail(Condition::C1, index.receiver(message), nowhere,
               shown(receive) + " is missing");
}

static void requireTransfers(JobIndex &index) {
  for (size_t i = 0; i < index.job.edges.size(); ++i) {
    const Edge &edge = index.job.edges[i];
    if (!index.crossesRanks(int32_t(i)) ||
        (edge.isBackward && !index.hasBackward))
      continue;
    index.verdict.messages += index.microbatches;
    ++index.verdict.edges;
    for (int32_t microbatch = 0; microbatch < index.microbatches;
         ++microbatch) {
      requireMessage(
          index, index.messageOf(int32_t(i), microbatch),
          {edge.source,
           edge.isBackward ? ActionKind::SendBackward : ActionKind::SendForward,
           microbatch, false, edge.destination},
          {edge.destination,
           edge.isBackward ? ActionKind::ReceiveBackward
                           : ActionKind::ReceiveForward,
           microbatch, false, edge.source});
    }
  }
  for (size_t i = 0; i < index.job.onceEdges.size(); ++i) {
    const OnceEdge &edge = index.job.onceEdges[i];
    const int32_t number = index.countEdges() + int32_t(i);
    if (!index.crossesRanks(number))
      continue;
    ++index.verdict.messages;
    ++index.verdict.edges;
    requireMessage(
        index, index.messageOf(number, nowhere),
        {edge.source,
         edge.isUpdate ? ActionKind::SendUpdate : ActionKind::SendPrologue,
         edge.level, false, edge.destination},
        {edge.destination,
         edge.isUpdate ? ActionKind::ReceiveUpdate
                       : ActionKind::ReceivePrologue,
         edge.level, false, edge.source});
  }
}

/// What each level needs and feeds, of a job that has all of it.
static void indexOnceEnds(JobIndex &index) {
  index.onceInputs.resize(index.job.rows.size());
  index.onceOutputs.resize(index.job.rows.size());
  for (size_t i = 0; i < index.job.onceEdges.size(); ++i) {
    const int32_t number = index.countEdges() + int32_t(i);
    if (!index.crossesRanks(number))
      continue;
    const int32_t message = index.messageOf(number, nowhere);
    index.onceOutputs[index.sender(message)].push_back(
        {index.producerOf(message), message});
    if (const int32_t consumer = index.consumerOf(message); consumer != nowhere)
      index.onceInputs[index.receiver(message)].push_back({consumer, message});
  }
  for (auto *ends : {&index.onceInputs, &index.onceOutputs})
    for (std::vector<JobIndex::OnceEnd> &row : *ends)
      std::ranges::sort(row, {}, [](const JobIndex::OnceEnd &end) {
        return std::pair(end.column, end.message);
      });
}

template <typename Visit>
static void forEachCall(const JobIndex &index, Visit visit) {
  for (size_t rank = 0; rank < index.job.rows.size(); ++rank)
    for (size_t column = 0; column < index.job.rows[rank].size(); ++column)
      visit(int32_t(rank), int32_t(column));
}

bool indexJob(JobIndex &index) {
  if (!countStages(index))
    return false;
  bool inRange = true;
  forEachCall(index, [&](int32_t rank, int32_t column) {
    inRange &= isInRange(index, rank, column);
  });
  if (!countLevels(index) || !areEdgesInRange(index) || !inRange)
    return false;

  const size_t keys = size_t(index.stages) * index.microbatches;
  index.rankOf.assign(index.stages, nowhere);
  index.forward.assign(keys, nowhere);
  index.inputGradient.assign(keys, nowhere);
  index.weightGradient.assign(keys, nowhere);
  index.firstColumn.assign(index.stages, nowhere);
  index.lastColumn.assign(index.stages, nowhere);
  const size_t messages =
      index.job.edges.size() * index.microbatches + index.job.onceEdges.size();
  index.send.assign(messages, nowhere);
  index.receive.assign(messages, nowhere);
  index.edgesOf.resize(index.stages);
  for (size_t i = 0; i < index.job.edges.size(); ++i) {
    const Edge &edge = index.job.edges[i];
    index.edgesOf[edge.source].out[edge.isBackward].push_back(int32_t(i));
    index.edgesOf[edge.destination].in[edge.isBackward].push_back(int32_t(i));
  }
  for (size_t i = 0; i < index.job.onceEdges.size(); ++i) {
    const OnceEdge &edge = index.job.onceEdges[i];
    const int32_t number = index.countEdges() + int32_t(i);
    index.edgesOf[edge.source].onceOut.push_back(number);
    index.edgesOf[edge.destination].onceIn.push_back(number);
  }

  forEachCall(index, [&](int32_t rank, int32_t column) {
    if (isCompute(index.at(rank, column).kind))
      indexComputation(index, rank, column);
    if (index.at(rank, column).overlapsNext)
      checkPair(index, rank, column);
  });
  forEachCall(index, [&](int32_t rank, int32_t column) {
    if (isLevel(index.at(rank, column).kind))
      indexLevel(index, rank, column);
  });
  forEachCall(index, [&](int32_t rank, int32_t column) {
    if (isTransfer(index.at(rank, column).kind))
      indexTransfer(index, rank, column);
  });
  requireAll(index, index.forward, ActionKind::Forward, "");
  if (index.hasBackward) {
    requireAll(index, index.inputGradient, ActionKind::InputGradient, "B");
    requireAll(index, index.weightGradient, ActionKind::WeightGradient, "B");
  }
  requireLevels(index);
  requireTransfers(index);
  if (!index.verdict.problems.empty())
    return false;
  indexOnceEnds(index);
  return true;
}

} // namespace weft::timeline
