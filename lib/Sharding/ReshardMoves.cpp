//===- ReshardMoves.cpp - Collectives as moves of digits ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardMoves.h"

#include <algorithm>

using namespace weft;
using namespace weft::sharding;

namespace {

using Visit = llvm::function_ref<void(DigitMove &&)>;

/// With more unreduced digits than this, their subsets and orders are not
/// enumerated; the ones that the target asks for are tried.
constexpr int maxEnumeratedUnreduced = 5;

class MoveGenerator {
public:
  MoveGenerator(const DigitProblem &problem, const DigitLayout &layout,
                Visit visit)
      : problem(problem), layout(layout), visit(visit) {}

  void slices();
  void gathersAndExchanges();
  void reductions();
  void masks();

private:
  bool fits(size_t dim, int64_t extra) const {
    int64_t held = problem.room[dim] / problem.product(layout.dims[dim]);
    return held % extra == 0;
  }
  void allReduce(uint32_t set);
  void reduceScatter(size_t dim, const DigitList &list);
  /// Extends `list` by the digits of `rest` in every order.
  void reduceScatters(size_t dim, DigitList &list, uint32_t rest);

  const DigitProblem &problem;
  const DigitLayout &layout;
  Visit visit;
};

} // namespace

void MoveGenerator::slices() {
  uint32_t replicated = problem.replicated(layout) & ~layout.reduced;
  for (uint8_t digit : digitsOf(problem.withoutAlike(replicated))) {
    for (size_t d = 0; d < layout.dims.size(); ++d) {
      if (!fits(d, problem.size(digit)))
        continue;
      DigitMove move{ReshardKind::AllSlice};
      move.dim = d;
      move.digits = {digit};
      move.result = layout;
      move.result.dims[d].push_back(digit);
      visit(std::move(move));
    }
  }
}

void MoveGenerator::gathersAndExchanges() {
  for (size_t s = 0; s < layout.dims.size(); ++s) {
    const DigitList &list = layout.dims[s];
    for (size_t count = 1; count <= list.size(); ++count) {
      DigitMove gather{ReshardKind::AllGather};
      gather.dim = s;
      gather.digits.assign(list.end() - count, list.end());
      gather.result = layout;
      gather.result.dims[s].resize(list.size() - count);
      int64_t size = problem.product(gather.digits);
      for (size_t t = 0; t < layout.dims.size(); ++t) {
        if (t == s || !fits(t, size))
          continue;
        DigitMove exchange = gather;
        exchange.kind = ReshardKind::AllToAll;
        exchange.dim = t;
        exchange.concatDim = s;
        exchange.result.dims[t].append(gather.digits.begin(),
                                       gather.digits.end());
        visit(std::move(exchange));
      }
      visit(std::move(gather));
    }
  }
}

void MoveGenerator::allReduce(uint32_t set) {
  if (set == 0)
    return;
  DigitMove move{ReshardKind::AllReduce};
  move.digits = digitsOf(set);
  move.result = layout;
  move.result.unreduced &= ~set;
  move.result.reduced |= set;
  visit(std::move(move));
}

void MoveGenerator::reduceScatter(size_t dim, const DigitList &list) {
  if (list.empty() || !fits(dim, problem.product(list)))
    return;
  DigitMove move{ReshardKind::ReduceScatter};
  move.dim = dim;
  move.digits = list;
  move.result = layout;
  move.result.unreduced &= ~setOf(list);
  move.result.dims[dim].append(list.begin(), list.end());
  visit(std::move(move));
}

void MoveGenerator::reduceScatters(size_t dim, DigitList &list, uint32_t rest) {
  reduceScatter(dim, list);
  for (uint8_t digit : digitsOf(problem.withoutAlike(rest))) {
    list.push_back(digit);
    reduceScatters(dim, list, rest & ~(1u << digit));
    list.pop_back();
  }
}

void MoveGenerator::reductions() {
  uint32_t all = layout.unreduced;
  if (llvm::popcount(all) <= maxEnumeratedUnreduced) {
    for (uint32_t set = all; set != 0; set = (set - 1) & all)
      allReduce(set);
  } else {
    allReduce(all & ~problem.splitting(problem.to));
    for (uint8_t digit : digitsOf(all))
      allReduce(1u << digit);
  }
  for (size_t d = 0; d < layout.dims.size(); ++d) {
    if (llvm::popcount(all) <= maxEnumeratedUnreduced) {
      DigitList list;
      reduceScatters(d, list, all);
      continue;
    }
    for (uint8_t digit : digitsOf(all))
      reduceScatter(d, {digit});
    const DigitList &wanted = problem.to.dims[d];
    for (size_t begin = 0; begin < wanted.size(); ++begin) {
      DigitList run;
      for (size_t i = begin; i < wanted.size(); ++i) {
        if (!(all >> wanted[i] & 1))
          break;
        run.push_back(wanted[i]);
        if (run.size() > 1)
          reduceScatter(d, run);
      }
    }
  }
}

/// Also of digits that the target splits: one reduce-scatter then does what a
/// slice between two would.
void MoveGenerator::masks() {
  uint32_t set = problem.to.unreduced;
  if (layout.unreduced & ~problem.to.unreduced)
    set |= problem.splitting(problem.to) & ~layout.reduced;
  uint32_t maskable = problem.replicated(layout) & set;
  for (uint8_t digit : digitsOf(problem.withoutAlike(maskable))) {
    DigitMove move{ReshardKind::MaskToUnreduced};
    move.digits = {digit};
    move.result = layout;
    move.result.unreduced |= 1u << digit;
    visit(std::move(move));
  }
}

void sharding::forEachMove(const DigitProblem &problem,
                           const DigitLayout &layout, MayPay mayPay,
                           Visit visit) {
  MoveGenerator generator(problem, layout, visit);
  generator.slices();
  generator.masks();
  generator.reductions();
  generator.gathersAndExchanges();
  forEachPermute(problem, layout, mayPay, visit);
}

int64_t sharding::wireBytes(const DigitProblem &problem,
                            const DigitLayout &layout, const DigitMove &move) {
  int64_t local = problem.localBytes(layout);
  int64_t group = problem.product(move.digits);
  switch (move.kind) {
  case ReshardKind::AllSlice:
  case ReshardKind::MaskToUnreduced:
    return 0;
  case ReshardKind::AllGather:
    return cost::wireBytes(cost::CollectiveKind::AllGather, local * group,
                           group);
  case ReshardKind::AllToAll:
    return cost::wireBytes(cost::CollectiveKind::AllToAll, local, group);
  case ReshardKind::Permute:
    return cost::wireBytes(cost::CollectiveKind::Permute, local, group);
  case ReshardKind::ReduceScatter:
    return cost::wireBytes(cost::CollectiveKind::ReduceScatter, local, group);
  case ReshardKind::AllReduce:
    return cost::wireBytes(cost::CollectiveKind::AllReduce, local, group);
  }
  return local;
}

//===----------------------------------------------------------------------===//
// The plain plan
//===----------------------------------------------------------------------===//

/// Appends a move that changes only `dim` (or none) and returns its result.
static DigitMove &append(llvm::SmallVectorImpl<DigitMove> &moves,
                         ReshardKind kind, int8_t dim, DigitList digits,
                         const DigitLayout &layout) {
  DigitMove &move = moves.emplace_back();
  move.kind = kind;
  move.dim = dim;
  move.digits = std::move(digits);
  move.result = layout;
  return move;
}

/// Brings `layout.dims[dim]` from empty to what the target wants, in runs of
/// digits to reduce-scatter and digits to slice.
static void appendSplits(const DigitProblem &problem, size_t dim,
                         DigitLayout &layout,
                         llvm::SmallVectorImpl<DigitMove> &moves) {
  llvm::ArrayRef<uint8_t> wanted = problem.to.dims[dim];
  while (!wanted.empty()) {
    auto isTerm = [&](uint8_t digit) { return layout.unreduced >> digit & 1; };
    bool terms = isTerm(wanted.front());
    llvm::ArrayRef<uint8_t> run = wanted.take_while(
        [&](uint8_t digit) { return bool(isTerm(digit)) == terms; });
    layout.unreduced &= ~setOf(run);
    layout.dims[dim].append(run.begin(), run.end());
    append(moves, terms ? ReshardKind::ReduceScatter : ReshardKind::AllSlice,
           dim, DigitList(run), layout);
    wanted = wanted.drop_front(run.size());
  }
}

llvm::SmallVector<DigitMove, 4>
sharding::makePlainMoves(const DigitProblem &problem) {
  llvm::SmallVector<DigitMove, 4> moves;
  DigitLayout layout = problem.from;
  uint32_t whole =
      layout.unreduced & ~problem.splitting(problem.to) & ~problem.to.unreduced;
  if (whole != 0) {
    layout.unreduced &= ~whole;
    append(moves, ReshardKind::AllReduce, -1, digitsOf(whole), layout);
  }
  for (size_t d = 0; d < layout.dims.size(); ++d) {
    if (layout.dims[d].empty())
      continue;
    DigitList gathered = layout.dims[d];
    layout.dims[d].clear();
    append(moves, ReshardKind::AllGather, d, gathered, layout);
  }
  for (size_t d = 0; d < layout.dims.size(); ++d)
    appendSplits(problem, d, layout, moves);
  uint32_t masked = problem.to.unreduced & ~layout.unreduced;
  if (masked != 0) {
    layout.unreduced |= masked;
    append(moves, ReshardKind::MaskToUnreduced, -1, digitsOf(masked), layout);
  }
  return moves;
}
