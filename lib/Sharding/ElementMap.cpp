//===- ElementMap.cpp - Elements that move along a dimension --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/ElementMap.h"

#include <algorithm>
#include <numeric>

using namespace weft::sharding;

static int64_t total(const std::vector<int64_t> &parts) {
  return std::accumulate(parts.begin(), parts.end(), int64_t(0));
}

static std::string range(int64_t first, int64_t last) {
  return std::to_string(first) + " to " + std::to_string(last);
}

std::string ElementMap::check(int64_t members) const {
  for (const std::vector<int64_t> *parts : {&from, &to})
    for (int64_t part : *parts)
      if (part < 1)
        return "parts must have at least one element, got " +
               std::to_string(part);
  int64_t before = total(from) * members, after = total(to) * members;
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (const ElementRun &run : runs) {
    if (run.length < 1 || run.step == 0)
      return "a run must have at least one element and a step that is not 0, "
             "got " +
             std::to_string(run.length) + " by " + std::to_string(run.step);
    if (run.length > std::max(before, after) || std::abs(run.step) > before)
      return "a run of " + std::to_string(run.length) + " by " +
             std::to_string(run.step) + " does not fit";
    int64_t last = run.from + (run.length - 1) * run.step;
    if (std::min(run.from, last) < 0 || std::max(run.from, last) >= before)
      return "a run takes elements " + range(run.from, last) + " of " +
             std::to_string(before);
    if (run.to < 0 || run.to > after - run.length)
      return "a run goes to elements " +
             range(run.to, run.to + run.length - 1) + " of " +
             std::to_string(after);
    taken.emplace_back(run.to, run.to + run.length);
  }
  std::sort(taken.begin(), taken.end());
  for (size_t i = 1; i < taken.size(); ++i)
    if (taken[i].first < taken[i - 1].second)
      return "two runs go to element " + std::to_string(taken[i].first);
  return {};
}

bool ElementMap::isDivisibleBy(int64_t members) const {
  auto divides = [&](int64_t part) { return part % members == 0; };
  return std::all_of(from.begin(), from.end(), divides) &&
         std::all_of(to.begin(), to.end(), divides);
}

ElementMap ElementMap::dividedBy(int64_t members) const {
  ElementMap map = *this;
  for (std::vector<int64_t> *parts : {&map.from, &map.to})
    for (int64_t &part : *parts)
      part /= members;
  return map;
}

namespace {
/// The part that a position lies in.
struct Place {
  int64_t member;
  /// What the member holds before the position.
  int64_t local;
  /// Elements of the part before and from the position on.
  int64_t before, left;
};
} // namespace

static Place placeOf(const std::vector<int64_t> &parts, int64_t members,
                     int64_t position) {
  int64_t local = 0;
  for (int64_t part : parts) {
    if (position < part * members) {
      int64_t before = position % part;
      return {position / part, local + before, before, part - before};
    }
    position -= part * members;
    local += part;
  }
  return {};
}

void ElementMap::forEachPiece(
    int64_t members, const std::function<void(const Piece &)> &visit) const {
  for (const ElementRun &run : runs)
    for (int64_t done = 0, length; done < run.length; done += length) {
      Place source = placeOf(from, members, run.from + done * run.step);
      Place target = placeOf(to, members, run.to + done);
      int64_t inPart = run.step > 0 ? (source.left - 1) / run.step + 1
                                    : source.before / -run.step + 1;
      length = std::min({run.length - done, inPart, target.left});
      visit({source.member, target.member, source.local, target.local, length,
             run.step});
    }
}

int64_t ElementMap::mostSent(int64_t members) const {
  std::vector<int64_t> sent(members);
  forEachPiece(members, [&](const Piece &piece) {
    if (piece.sender != piece.receiver)
      sent[piece.sender] += piece.length;
  });
  return *std::max_element(sent.begin(), sent.end());
}
