//===- Transfers.cpp - Sends and receives of a table ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Transfers.h"

#include <algorithm>
#include <map>

namespace weft::timeline {

/// Whether an action of this kind makes what an edge carries.
static bool produces(ActionKind kind, const Edge &edge) {
  return edge.isBackward
             ? kind == ActionKind::Backward || kind == ActionKind::InputGradient
             : kind == ActionKind::Forward;
}

namespace {

/// Walks all rows at once, one action of each rank a round.
class Walk {
public:
  Walk(const Table &compute, const Placement &placement,
       const std::vector<Edge> &edges, Receives receives)
      : compute(compute), placement(placement), edges(edges),
        receives(receives), next(compute.rows.size()),
        previous(compute.rows.size()) {
    result.table.rows.resize(compute.rows.size());
    outgoing.resize(placement.size());
    incoming.resize(placement.size());
    for (size_t i = 0; i < edges.size(); ++i) {
      outgoing[edges[i].source].push_back(int32_t(i));
      incoming[edges[i].destination].push_back(int32_t(i));
    }
    int32_t microbatches = 0;
    for (const Row &row : compute.rows)
      for (const Action &action : row)
        microbatches = std::max(microbatches, action.microbatch + 1);
    madeIn.assign(edges.size(), std::vector<int64_t>(microbatches, -1));
  }

  TransferredTable run();

private:
  size_t unitLength(size_t rank) const;
  void emitUntimed(size_t rank);
  bool isReady(const Action &action) const;
  void emit(size_t rank);
  void send(const Action &action);
  Action receiveOf(int32_t edge, int32_t microbatch) const;
  void receiveInputs(const Action &action, Row &into);

  Action transfer(int32_t edge, int32_t microbatch, bool sends) const;

  const Table &compute;
  const Placement &placement;
  const std::vector<Edge> &edges;
  const Receives receives;

  /// Edges by their source and by their destination.
  std::vector<std::vector<int32_t>> outgoing, incoming;
  /// For each edge and micro-batch the round that made the value, or -1.
  std::vector<std::vector<int64_t>> madeIn;
  /// Unless WithSend: what was sent from a rank to another and not received
  /// yet, as edge and micro-batch.
  using Message = std::pair<int32_t, int32_t>;
  std::map<std::pair<int32_t, int32_t>, std::vector<Message>> sent;
  std::vector<size_t> next;
  /// By rank, the column in the result of the action before the next one.
  std::vector<size_t> previous;
  int64_t round = 0;
  TransferredTable result;
};

} // namespace

/// Two for a pair that runs together.
size_t Walk::unitLength(size_t rank) const {
  const Row &row = compute.rows[rank];
  const bool isPair =
      row[next[rank]].overlapsNext && next[rank] + 1 < row.size();
  return isPair ? 2 : 1;
}

/// Whether all that the action needs was made in an earlier round.
bool Walk::isReady(const Action &action) const {
  for (int32_t edge : incoming[action.stage]) {
    if (!produces(action.kind, edges[edge]))
      continue;
    const int64_t made = madeIn[edge][action.microbatch];
    if (made < 0 || made == round)
      return false;
  }
  return true;
}

Action Walk::transfer(int32_t index, int32_t microbatch, bool sends) const {
  const Edge &edge = edges[index];
  const int32_t stage = sends ? edge.source : edge.destination;
  const int32_t peer = sends ? edge.destination : edge.source;
  Action action;
  action.stage = stage;
  if (edge.isBackward)
    action.kind =
        sends ? ActionKind::SendBackward : ActionKind::ReceiveBackward;
  else
    action.kind = sends ? ActionKind::SendForward : ActionKind::ReceiveForward;
  action.microbatch = microbatch;
  const bool isNeighbour =
      edge.destination - edge.source == (edge.isBackward ? -1 : 1);
  action.peer = isNeighbour ? -1 : peer;
  return action;
}

Action Walk::receiveOf(int32_t edge, int32_t microbatch) const {
  return transfer(edge, microbatch, /*sends=*/false);
}

void Walk::send(const Action &action) {
  for (int32_t edge : outgoing[action.stage]) {
    if (!produces(action.kind, edges[edge]))
      continue;
    madeIn[edge][action.microbatch] = round;
    const int32_t from = placement[action.stage];
    const int32_t to = placement[edges[edge].destination];
    if (from == to)
      continue;
    result.table.rows[from].push_back(
        transfer(edge, action.microbatch, /*sends=*/true));
    if (receives == Receives::WithSend)
      result.table.rows[to].push_back(receiveOf(edge, action.microbatch));
    else
      sent[{from, to}].push_back({edge, action.microbatch});
  }
}

/// Receives what the action needs, and before it whatever the same rank has
/// sent earlier.
void Walk::receiveInputs(const Action &action, Row &into) {
  for (int32_t edge : incoming[action.stage]) {
    const int32_t from = placement[edges[edge].source];
    const int32_t to = placement[action.stage];
    if (!produces(action.kind, edges[edge]) || from == to)
      continue;
    std::vector<Message> &waiting = sent[{from, to}];
    const auto message = std::find(waiting.begin(), waiting.end(),
                                   Message(edge, action.microbatch));
    if (message == waiting.end())
      continue; // Received ahead of an earlier action.
    for (auto it = waiting.begin(); it != message + 1; ++it)
      into.push_back(receiveOf(it->first, it->second));
    waiting.erase(waiting.begin(), message + 1);
  }
}

/// Emits what neither makes nor needs what edges carry, and takes no time.
void Walk::emitUntimed(size_t rank) {
  const Row &row = compute.rows[rank];
  while (next[rank] < row.size() && !isCompute(row[next[rank]].kind))
    result.table.rows[rank].push_back(row[next[rank]++]);
}

void Walk::emit(size_t rank) {
  const Row &row = compute.rows[rank];
  const size_t begin = next[rank], end = begin + unitLength(rank);
  Row &out = result.table.rows[rank];
  if (receives != Receives::WithSend) {
    Row inputs;
    for (size_t i = begin; i < end; ++i)
      receiveInputs(row[i], inputs);
    const size_t at =
        receives == Receives::OneAhead ? previous[rank] : out.size();
    out.insert(out.begin() + at, inputs.begin(), inputs.end());
  }
  previous[rank] = out.size();
  out.insert(out.end(), row.begin() + begin, row.begin() + end);
  for (size_t i = begin; i < end; ++i)
    send(row[i]);
  next[rank] = end;
  emitUntimed(rank);
}

TransferredTable Walk::run() {
  for (size_t rank = 0; rank < compute.rows.size(); ++rank)
    emitUntimed(rank);
  for (;; ++round) {
    size_t stuck = compute.rows.size();
    bool progress = false;
    for (size_t rank = 0; rank < compute.rows.size(); ++rank) {
      const Row &row = compute.rows[rank];
      if (next[rank] == row.size())
        continue;
      const size_t length = unitLength(rank);
      bool ready = true;
      for (size_t i = next[rank]; i < next[rank] + length; ++i)
        ready &= isReady(row[i]);
      if (ready) {
        emit(rank);
        progress = true;
      } else {
        stuck = std::min(stuck, rank);
      }
    }
    if (progress)
      continue;
    if (stuck < compute.rows.size()) {
      result.table = {};
      result.error = "rank " + std::to_string(stuck) + " cannot go beyond " +
                     print(compute.rows[stuck][next[stuck]]) +
                     ", whose inputs are made behind it or not at all";
    }
    return std::move(result);
  }
}

TransferredTable addTransfers(const Table &compute, const Placement &placement,
                              const std::vector<Edge> &edges,
                              Receives receives) {
  return Walk(compute, placement, edges, receives).run();
}

} // namespace weft::timeline
