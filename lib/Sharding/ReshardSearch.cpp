//===- ReshardSearch.cpp - Shortest path over placements ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A* over placements of digits. The estimate of what remains: a device that
// holds less than it shall hold at the end has to receive the difference, over
// the fastest link at best, in at least one collective.
//
//===----------------------------------------------------------------------===//

#include "ReshardSearch.h"

#include <cmath>
#include <queue>
#include <unordered_map>

using namespace weft;
using namespace weft::sharding;

namespace {

/// Enough for every problem of up to six digits; a plan that needs more visits
/// is not improved further.
constexpr size_t maxVisits = 6000;

int64_t toPicoseconds(double seconds) { return std::llround(seconds * 1e12); }

std::string keyOf(const DigitLayout &layout) {
  std::string key;
  for (const DigitList &dim : layout.dims) {
    key.append(dim.begin(), dim.end());
    key.push_back('\x7f');
  }
  for (uint8_t digit : digitsOf(layout.unreduced))
    key.push_back(digit);
  return key;
}

class Search {
public:
  Search(const DigitProblem &problem, const PathCost &bound)
      : problem(problem), bound(bound) {}

  std::optional<llvm::SmallVector<DigitMove, 4>> run();

private:
  struct Node {
    DigitMove move;
    PathCost cost;
    int64_t remaining = 0;
    int32_t parent = -1;
    bool visited = false;
  };
  /// Estimated total, then the real cost, then age: the queue is a total order.
  struct Entry {
    PathCost total;
    PathCost cost;
    int32_t node;
    bool operator>(const Entry &other) const {
      return std::tie(total, cost, node) >
             std::tie(other.total, other.cost, other.node);
    }
  };

  void prepareEstimate();
  int64_t estimate(const DigitLayout &layout) const;
  void reach(DigitMove &&move, PathCost cost, int32_t parent);
  void expand(int32_t index);
  llvm::SmallVector<DigitMove, 4> pathTo(int32_t index) const;

  const DigitProblem &problem;
  PathCost bound;
  int64_t targetBytes = 0;
  double leastLatency = 0;
  double leastSecondsPerByte = 0;
  std::vector<Node> nodes;
  std::unordered_map<std::string, int32_t> known;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
};

} // namespace

void Search::prepareEstimate() {
  targetBytes = problem.localBytes(problem.to);
  leastLatency = leastSecondsPerByte = 1e30;
  for (int64_t span : problem.spans) {
    const cost::Link &link = problem.cost->link(span);
    leastLatency = std::min(leastLatency, link.latencySeconds);
    leastSecondsPerByte = std::min(leastSecondsPerByte, link.secondsPerByte);
  }
}

int64_t Search::estimate(const DigitLayout &layout) const {
  int64_t lacking = targetBytes - problem.localBytes(layout);
  if (lacking <= 0)
    return 0;
  return static_cast<int64_t>((leastLatency + lacking * leastSecondsPerByte) *
                              1e12);
}

void Search::reach(DigitMove &&move, PathCost cost, int32_t parent) {
  auto [entry, isNew] =
      known.try_emplace(keyOf(move.result), static_cast<int32_t>(nodes.size()));
  int32_t index = entry->second;
  if (isNew) {
    nodes.emplace_back().remaining = estimate(move.result);
  } else if (!(cost < nodes[index].cost)) {
    return;
  }
  Node &node = nodes[index];
  PathCost total = cost;
  total.picoseconds += node.remaining;
  node.move = std::move(move);
  node.cost = cost;
  node.parent = parent;
  node.visited = false;
  if (total < bound)
    queue.push({total, cost, index});
}

void Search::expand(int32_t index) {
  // `nodes` grows while moves are visited.
  DigitLayout layout = nodes[index].move.result;
  PathCost cost = nodes[index].cost;
  forEachMove(problem, layout, [&](DigitMove &&move) {
    PathCost next = cost + costOf(problem, layout, move);
    if (next < bound)
      reach(std::move(move), next, index);
  });
}

llvm::SmallVector<DigitMove, 4> Search::pathTo(int32_t index) const {
  llvm::SmallVector<DigitMove, 4> moves;
  for (; nodes[index].parent >= 0; index = nodes[index].parent)
    moves.push_back(nodes[index].move);
  std::reverse(moves.begin(), moves.end());
  return moves;
}

std::optional<llvm::SmallVector<DigitMove, 4>> Search::run() {
  prepareEstimate();
  DigitMove start{ReshardKind::AllSlice};
  start.result = problem.from;
  reach(std::move(start), {}, -1);
  for (size_t visits = 0; !queue.empty() && visits < maxVisits;) {
    Entry entry = queue.top();
    queue.pop();
    Node &node = nodes[entry.node];
    if (node.visited || node.cost != entry.cost)
      continue;
    node.visited = true;
    ++visits;
    if (node.move.result == problem.to)
      return pathTo(entry.node);
    expand(entry.node);
  }
  return std::nullopt;
}

PathCost sharding::costOf(const DigitProblem &problem,
                          const DigitLayout &layout, const DigitMove &move) {
  if (move.kind == ReshardKind::AllSlice ||
      move.kind == ReshardKind::MaskToUnreduced)
    return {0, 0, 1};
  double seconds = problem.cost->seconds(
      wireBytes(problem, layout, move),
      std::max(problem.span(move.digits), problem.span(move.toDigits)));
  return {toPicoseconds(seconds), 1, 1};
}

PathCost sharding::costOf(const DigitProblem &problem,
                          llvm::ArrayRef<DigitMove> moves) {
  PathCost total;
  const DigitLayout *layout = &problem.from;
  for (const DigitMove &move : moves) {
    total = total + costOf(problem, *layout, move);
    layout = &move.result;
  }
  return total;
}

std::optional<llvm::SmallVector<DigitMove, 4>>
sharding::searchMoves(const DigitProblem &problem, const PathCost &bound) {
  return Search(problem, bound).run();
}
