//===- Calls.cpp - The calls of a table with transfers --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Check.h"

#include <algorithm>
#include <map>

namespace weft::timeline {

namespace {

class JobMaker {
public:
  JobMaker(Communicators communicators, Job &job)
      : communicators(communicators), job(job) {}

  void run(const Table &table);

private:
  /// Of the edge between two stages, or of one that is not declared.
  struct Transfer {
    int32_t source = 0, destination = 0;
    bool isBackward = false;
    int64_t bytes = 0;
    int32_t communicator = -1;
  };
  Transfer &transferOf(int32_t source, int32_t destination, bool isBackward);
  int32_t communicatorOf(const Transfer &transfer);
  int32_t rankOf(int32_t stage) const {
    return size_t(stage) < ranks.size() ? ranks[stage] : -1;
  }
  Call callOf(const Action &action);

  const Communicators communicators;
  Job &job;
  std::vector<int32_t> ranks;
  /// By the source, if that is a stage.
  std::vector<std::vector<Transfer>> bySource;
  std::vector<Transfer> others;
  std::map<std::string, int32_t> numbers;
};

} // namespace

/// Named by what shares it; numbered as they are first used.
int32_t JobMaker::communicatorOf(const Transfer &transfer) {
  const auto name = [](const char *of, int32_t left, const char *sign,
                       int32_t right) {
    return of + std::to_string(left) + sign + std::to_string(right);
  };
  const int32_t from = rankOf(transfer.source);
  const int32_t to = rankOf(transfer.destination);
  std::string text;
  switch (communicators) {
  case Communicators::One:
    text = "all ranks";
    break;
  case Communicators::RankPair:
    text = name("ranks ", std::min(from, to), "-", std::max(from, to));
    break;
  case Communicators::DirectedPair:
    text = name("ranks ", from, "->", to);
    break;
  case Communicators::Edge:
    text = name("stages ", transfer.source, "->", transfer.destination);
    break;
  }
  const auto [it, isNew] =
      numbers.try_emplace(text, int32_t(job.communicators.size()));
  if (isNew)
    job.communicators.push_back(text);
  return it->second;
}

JobMaker::Transfer &JobMaker::transferOf(int32_t source, int32_t destination,
                                         bool isBackward) {
  // A file may name any stage.
  std::vector<Transfer> &transfers =
      source >= 0 && size_t(source) < ranks.size() ? bySource[source] : others;
  const auto it = std::ranges::find_if(transfers, [&](const Transfer &t) {
    return t.source == source && t.destination == destination &&
           t.isBackward == isBackward;
  });
  if (it != transfers.end())
    return *it;
  transfers.push_back({source, destination, isBackward, 0, -1});
  return transfers.back();
}

Call JobMaker::callOf(const Action &action) {
  Call call;
  call.action = action;
  if (!isTransfer(action.kind))
    return call;
  const bool isBackward = action.kind == ActionKind::SendBackward ||
                          action.kind == ActionKind::ReceiveBackward;
  const bool sends = action.kind == ActionKind::SendForward ||
                     action.kind == ActionKind::SendBackward;
  if (action.peer < 0)
    call.action.peer = action.stage + (sends == isBackward ? -1 : 1);
  const int32_t peer = call.action.peer;
  Transfer &transfer = transferOf(sends ? action.stage : peer,
                                  sends ? peer : action.stage, isBackward);
  if (transfer.communicator < 0)
    transfer.communicator = communicatorOf(transfer);
  call.peerRank = rankOf(peer);
  call.communicator = transfer.communicator;
  call.bytes = transfer.bytes;
  return call;
}

void JobMaker::run(const Table &table) {
  // More stages than actions cannot be: the numbers come from a file.
  size_t actions = 0;
  for (const Row &row : table.rows)
    actions += row.size();
  for (size_t rank = 0; rank < table.rows.size(); ++rank)
    for (const Action &action : table.rows[rank]) {
      if (!isCompute(action.kind) || size_t(action.stage) >= actions)
        continue;
      if (size_t(action.stage) >= ranks.size())
        ranks.resize(action.stage + 1, -1);
      if (ranks[action.stage] < 0)
        ranks[action.stage] = int32_t(rank);
    }
  bySource.resize(ranks.size());
  if (job.edges.empty())
    job.edges = neighbourEdges(int32_t(ranks.size()));
  for (const Edge &edge : job.edges)
    transferOf(edge.source, edge.destination, edge.isBackward).bytes =
        edge.bytes;
  job.rows.resize(table.rows.size());
  for (size_t rank = 0; rank < table.rows.size(); ++rank) {
    job.rows[rank].reserve(table.rows[rank].size());
    for (const Action &action : table.rows[rank]) {
      job.rows[rank].push_back(callOf(action));
      job.microbatches = std::max(job.microbatches, action.microbatch + 1);
      job.reducesGradients |= action.kind == ActionKind::ReduceGradient;
      if ((action.kind == ActionKind::Unshard ||
           action.kind == ActionKind::Reshard) &&
          std::ranges::find(job.shardedStages, action.stage) ==
              job.shardedStages.end())
        job.shardedStages.push_back(action.stage);
    }
  }
}

Job makeJob(const Table &table, Communicators communicators,
            std::vector<Edge> edges) {
  Job job;
  job.edges = std::move(edges);
  JobMaker(communicators, job).run(table);
  return job;
}

} // namespace weft::timeline
