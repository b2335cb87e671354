//===- ReshardSearch.cpp - Shortest path over placements ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A* over placements of digits. The estimate of what remains: what a device
// shall hold at the end and does not hold yet it has to receive, over the
// fastest link at best, in at least one collective. All devices do the same, so
// the one that holds the least of what it needs counts.
//
// Digits over which the target splits no dimension and that do equally well may
// take each other's places, so placements that differ in that alone are one.
//
//===----------------------------------------------------------------------===//

#include "ReshardSearch.h"

#include "llvm/ADT/bit.h"

#include <array>
#include <cmath>
#include <queue>
#include <unordered_map>

using namespace weft;
using namespace weft::sharding;

namespace {

/// Nearly always enough for six digits, and for four; the best plan found by
/// then is taken.
size_t maxVisits(PlanEffort effort) {
  return effort == PlanEffort::Best ? 4000 : 64;
}

/// The same for layouts that differ by the names of such digits only.
std::string keyOf(const DigitProblem &problem, const DigitLayout &layout) {
  std::string key;
  uint32_t unused = problem.placeless;
  std::array<int8_t, maxDigits> names;
  names.fill(-1);
  auto add = [&](uint8_t digit) {
    int8_t &name = names[digit];
    if (name < 0) {
      name = digit;
      if (problem.placeless >> digit & 1) {
        name = llvm::countr_zero(unused & problem.alike[digit]);
        unused &= ~(1u << name);
      }
    }
    key.push_back(name);
  };
  for (const DigitList &dim : layout.dims) {
    for (uint8_t digit : dim)
      add(digit);
    key.push_back('\x7f');
  }
  for (uint8_t digit : digitsOf(layout.unreduced))
    add(digit);
  key.push_back('\x7f');
  for (uint8_t digit : digitsOf(layout.reduced))
    add(digit);
  return key;
}

/// What the way from a layout to the target costs at least.
class LeastCost {
public:
  explicit LeastCost(const DigitProblem &problem);
  PathCost operator()(const DigitLayout &layout) const;

private:
  /// Devices that reach each other without a slower link; a single one, too.
  struct Block {
    /// The digits that lead out of it.
    uint32_t outer;
    /// Of the links that lead out of it, the least of each.
    double latency, secondsPerByte;
    int64_t numDevices;
    /// Bytes that it has to hold at the end.
    int64_t targetBytes;
  };

  /// Bytes that some block has to receive at least.
  int64_t bytes(const DigitLayout &layout, const Block &block) const;

  const DigitProblem &problem;
  /// Of the digits of the problem.
  int64_t numDevices;
  /// The smallest first.
  llvm::SmallVector<Block, 2> blocks;
};

class Search {
public:
  Search(const DigitProblem &problem, const PathCost &bound)
      : problem(problem), bound(bound), leastCost(problem) {}

  std::optional<llvm::SmallVector<DigitMove, 4>> run(size_t maxVisits);

private:
  /// A path, by its last move.
  struct Node {
    DigitMove move;
    PathCost cost;
    int32_t parent = -1;
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

  void reach(DigitMove &&move, PathCost cost, int32_t parent);
  void expand(int32_t index);
  llvm::SmallVector<DigitMove, 4> pathTo(int32_t index) const;

  const DigitProblem &problem;
  /// What a path has to cost less than: the best that is known.
  PathCost bound;
  /// The best path, once there is one.
  int32_t best = -1;
  LeastCost leastCost;
  std::vector<Node> nodes;
  /// The cheapest path to each layout.
  std::unordered_map<std::string, PathCost> known;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
};

} // namespace

//===----------------------------------------------------------------------===//
// LeastCost
//===----------------------------------------------------------------------===//

LeastCost::LeastCost(const DigitProblem &problem) : problem(problem) {
  uint32_t outer = (uint64_t(1) << problem.digits.size()) - 1;
  numDevices = problem.product(outer);
  for (int64_t span : problem.linkSpans) {
    const cost::Link &link = problem.cost->link(span);
    for (Block &block : blocks) {
      block.latency = std::min(block.latency, link.latencySeconds);
      block.secondsPerByte =
          std::min(block.secondsPerByte, link.secondsPerByte);
    }
    uint32_t splitting = outer & problem.splitting(problem.to);
    blocks.push_back({outer, link.latencySeconds, link.secondsPerByte,
                      numDevices / problem.product(outer),
                      problem.wholeBytes / problem.product(splitting)});
    for (uint8_t digit : digitsOf(outer))
      if (problem.spans[digit] <= span)
        outer &= ~(1u << digit);
  }
}

int64_t LeastCost::bytes(const DigitLayout &layout, const Block &block) const {
  const DigitLayout &to = problem.to;
  // Blocks that hold different terms shall hold the same sum: one of them has
  // nothing of it. Where nothing stays a term, all but one of the n terms of an
  // element are sent, and then the sum to all other devices that need it.
  if (uint32_t terms = layout.unreduced & ~to.unreduced & block.outer) {
    bool isDevice = block.numDevices == 1;
    return block.targetBytes +
           (isDevice && to.unreduced == 0
                ? problem.wholeBytes / numDevices * (problem.product(terms) - 2)
                : 0);
  }
  int64_t overlap = problem.wholeBytes;
  for (auto [held, wanted] : llvm::zip_equal(layout.dims, to.dims)) {
    size_t common = 0, either = std::min(held.size(), wanted.size());
    while (common < either && held[common] == wanted[common])
      ++common;
    // Where different digits decide, there is a block that has nothing of what
    // it needs.
    auto isOuter = [&](uint8_t digit) { return block.outer >> digit & 1; };
    if (common < either && isOuter(held[common]) && isOuter(wanted[common]))
      return block.targetBytes;
    // Else it has at most what it holds, and what it needs.
    overlap /= std::max(problem.product(setOf(held) & block.outer),
                        problem.product(setOf(wanted) & block.outer));
  }
  return block.targetBytes - overlap;
}

PathCost LeastCost::operator()(const DigitLayout &layout) const {
  if (layout.placesLike(problem.to))
    return {};
  const Block &device = blocks.front();
  const double lacking = bytes(layout, device);
  if (lacking <= 0)
    return {0, 0, 1};
  double seconds = device.latency + lacking * device.secondsPerByte;
  for (const Block &block : llvm::drop_begin(blocks)) {
    // What comes from outside may come in equal parts to all devices; the rest
    // comes with it, or from inside.
    double outside = double(bytes(layout, block)) / block.numDevices;
    if (outside <= 0)
      continue;
    double rest = std::max(lacking - outside, 0.0);
    seconds = std::max(
        seconds,
        block.latency + outside * block.secondsPerByte +
            std::min(rest * block.secondsPerByte,
                     rest > 0 ? device.latency + rest * device.secondsPerByte
                              : 0));
  }
  return {static_cast<int64_t>(seconds * 1e12), 1, 1};
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

static PathCost collective(const DigitProblem &problem, int64_t bytes,
                           int64_t span) {
  return {toPicoseconds(problem.cost->seconds(bytes, span)), 1, 1};
}

void Search::reach(DigitMove &&move, PathCost cost, int32_t parent) {
  PathCost total = cost + leastCost(move.result);
  if (!(total < bound))
    return;
  auto [entry, isNew] = known.try_emplace(keyOf(problem, move.result), cost);
  if (!isNew && !(cost < entry->second))
    return;
  entry->second = cost;
  if (move.result.placesLike(problem.to)) {
    bound = cost;
    best = static_cast<int32_t>(nodes.size());
  }
  queue.push({total, cost, static_cast<int32_t>(nodes.size())});
  nodes.push_back({std::move(move), cost, parent});
}

void Search::expand(int32_t index) {
  // `nodes` grows while moves are visited.
  DigitLayout layout = nodes[index].move.result;
  PathCost cost = nodes[index].cost;
  auto mayPay = [&](int64_t bytes, int64_t span) {
    return cost + collective(problem, bytes, span) < bound;
  };
  forEachMove(problem, layout, mayPay, [&](DigitMove &&move) {
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

std::optional<llvm::SmallVector<DigitMove, 4>> Search::run(size_t maxVisits) {
  DigitMove start{ReshardKind::AllSlice};
  start.result = problem.from;
  reach(std::move(start), {}, -1);
  for (size_t visits = 0; !queue.empty() && visits < maxVisits;) {
    Entry entry = queue.top();
    queue.pop();
    // As good as the best path at most, or overtaken by a cheaper path.
    if (!(entry.total < bound))
      break;
    if (known.at(keyOf(problem, nodes[entry.node].move.result)) < entry.cost)
      continue;
    ++visits;
    expand(entry.node);
  }
  if (best < 0)
    return std::nullopt;
  return pathTo(best);
}

int64_t sharding::toPicoseconds(double seconds) {
  return std::llround(seconds * 1e12);
}

PathCost sharding::costOf(const DigitProblem &problem,
                          const DigitLayout &layout, const DigitMove &move) {
  if (move.kind == ReshardKind::AllSlice ||
      move.kind == ReshardKind::MaskToUnreduced)
    return {0, 0, 1};
  return collective(
      problem, wireBytes(problem, layout, move),
      std::max(problem.span(move.digits), problem.span(move.toDigits)));
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
sharding::searchMoves(const DigitProblem &problem, const PathCost &bound,
                      PlanEffort effort) {
  return Search(problem, bound).run(maxVisits(effort));
}
