//===- ChainRecomputation.cpp - What a chain keeps and recomputes ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Search/ChainRecomputation.h"

#include <algorithm>
#include <limits>

namespace weft {
namespace {

constexpr double impossible = std::numeric_limits<double>::infinity();

/// A region with its bytes in units.
struct RegionUnits {
  int64_t input, values, beside, dotBytes;
  double work, dotWork;
};

/// A way to do the regions [begin, end) with some amount of memory: the regions
/// from `next` on with `held` less of it, and, if `again`, those before `next`
/// once more with all of it.
struct Choice {
  enum Kind { KeepAll, KeepDots, Again } kind = KeepAll;
  size_t next = 0;
  int64_t held = 0;
  /// The least amount, and the work done again.
  int64_t least = 0;
  double work = 0;
};

/// The table of the dynamic program. Its entry for a range of regions and an
/// amount of memory is the least work done again to take the derivative of the
/// range, when the input of its first region is there (not counted in the
/// amount) and its values have been computed but not kept.
class Table {
public:
  Table(const std::vector<ChainRegion> &regions, int64_t base, int64_t unit,
        int64_t amounts);

  size_t size() const { return regions.size(); }
  double costOf(size_t begin, size_t end, int64_t amount) const {
    return rowOf(begin, end)[amount];
  }
  void emit(size_t begin, size_t end, int64_t amount, ChainPlan &plan) const;

private:
  double *rowOf(size_t begin, size_t end) {
    return &costs[(begin * (size() + 1) + end) * amounts];
  }
  const double *rowOf(size_t begin, size_t end) const {
    return const_cast<Table *>(this)->rowOf(begin, end);
  }
  std::vector<Choice> choicesFor(size_t begin, size_t end) const;
  void fill(size_t begin, size_t end);

  std::vector<RegionUnits> regions;
  /// Work of the regions before each, for sums over ranges.
  std::vector<double> workBefore;
  int64_t amounts;
  std::vector<double> costs;
};

} // namespace

Table::Table(const std::vector<ChainRegion> &chain, int64_t base, int64_t unit,
             int64_t amounts)
    : workBefore(1), amounts(amounts) {
  auto inUnits = [&](int64_t bytes) { return (bytes + unit - 1) / unit; };
  for (const ChainRegion &region : chain) {
    RegionUnits out = {inUnits(region.inputBytes),
                       inUnits(region.valueBytes),
                       inUnits(region.besideBytes - base),
                       region.dots ? inUnits(region.dots->bytes) : 0,
                       region.work,
                       region.dots ? region.dots->work : impossible};
    regions.push_back(out);
    workBefore.push_back(workBefore.back() + region.work);
  }
  costs.assign((size() + 1) * (size() + 1) * amounts, 0);
  for (size_t length = 1; length <= size(); ++length)
    for (size_t begin = 0; begin + length <= size(); ++begin)
      fill(begin, begin + length);
}

std::vector<Choice> Table::choicesFor(size_t begin, size_t end) const {
  std::vector<Choice> choices;
  const RegionUnits &first = regions[begin];
  int64_t output = begin + 1 < end ? regions[begin + 1].input : 0;
  // The derivative of the first region comes last, with all its values there.
  auto keep = [&](Choice::Kind kind, int64_t bytes, double work) {
    int64_t held = bytes + output;
    choices.push_back({kind, begin + 1, held,
                       std::max(held, first.values + first.beside), work});
  };
  keep(Choice::KeepAll, first.values, 0);
  if (first.dotWork < impossible)
    keep(Choice::KeepDots, first.dotBytes, first.dotWork);
  // The regions up to a later one are run once to reach it, and once more when
  // it is done. On the way one region's input and output are there.
  int64_t onTheWay = 0;
  for (size_t next = begin + 1; next < end; ++next) {
    int64_t input = next - 1 > begin ? regions[next - 1].input : 0;
    onTheWay = std::max(onTheWay, input + regions[next].input);
    choices.push_back({Choice::Again, next, regions[next].input, onTheWay,
                       workBefore[next] - workBefore[begin]});
  }
  return choices;
}

void Table::fill(size_t begin, size_t end) {
  double *row = rowOf(begin, end);
  std::fill(row, row + amounts, impossible);
  for (const Choice &choice : choicesFor(begin, end)) {
    const double *rest = rowOf(choice.next, end);
    const double *again = choice.kind == Choice::Again
                              ? rowOf(begin, choice.next)
                              : rowOf(end, end);
    for (int64_t amount = choice.least; amount < amounts; ++amount)
      row[amount] =
          std::min(row[amount],
                   choice.work + rest[amount - choice.held] + again[amount]);
  }
}

void Table::emit(size_t begin, size_t end, int64_t amount,
                 ChainPlan &plan) const {
  if (begin == end)
    return;
  for (const Choice &choice : choicesFor(begin, end)) {
    if (amount < choice.least)
      continue;
    bool isAgain = choice.kind == Choice::Again;
    double work = choice.work + costOf(choice.next, end, amount - choice.held) +
                  (isAgain ? costOf(begin, choice.next, amount) : 0);
    if (work != costOf(begin, end, amount))
      continue;
    if (choice.kind != Choice::KeepAll)
      plan.ranges.push_back(
          {begin, choice.next, choice.kind == Choice::KeepDots});
    if (isAgain)
      emit(begin, choice.next, amount, plan);
    emit(choice.next, end, amount - choice.held, plan);
    return;
  }
}

/// So many that the table is made in about a second.
static size_t chooseUnits(size_t length) {
  constexpr size_t work = 200'000'000, most = 1024, least = 64;
  size_t splits = std::max<size_t>(length * length * length / 6, 1);
  return std::clamp(work / splits, least, most);
}

std::optional<ChainPlan> planChain(const std::vector<ChainRegion> &regions,
                                   int64_t limit, size_t units) {
  if (regions.empty())
    return ChainPlan();
  // What is always there needs no units.
  int64_t base = regions.front().besideBytes;
  for (const ChainRegion &region : regions)
    base = std::min(base, region.besideBytes);
  int64_t room = limit - base - regions.front().inputBytes;
  if (room < 0)
    return std::nullopt;
  int64_t pieces = units ? units : chooseUnits(regions.size());
  int64_t unit = std::max<int64_t>((room + pieces - 1) / pieces, 1);
  int64_t amount = room / unit;
  Table table(regions, base, unit, amount + 1);
  ChainPlan plan;
  plan.work = table.costOf(0, regions.size(), amount);
  if (plan.work == impossible)
    return std::nullopt;
  table.emit(0, regions.size(), amount, plan);
  return plan;
}

} // namespace weft
