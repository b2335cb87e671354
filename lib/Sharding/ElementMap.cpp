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

ElementMap ElementMap::inverse() const {
  ElementMap map{to, from, runs};
  for (ElementRun &run : map.runs)
    std::swap(run.from, run.to);
  std::sort(
      map.runs.begin(), map.runs.end(),
      [](const ElementRun &a, const ElementRun &b) { return a.to < b.to; });
  return map;
}

/// As bySegments() of what is after; `map` itself if it has no such segments.
static ElementMap byTargets(const ElementMap &map, int64_t members) {
  const auto count = static_cast<int64_t>(map.runs.size());
  if (map.to.size() != 1 || count % members != 0 || members == 1)
    return map;
  std::vector<ElementRun> runs = map.runs;
  std::sort(
      runs.begin(), runs.end(),
      [](const ElementRun &a, const ElementRun &b) { return a.to < b.to; });
  const int64_t perMember = count / members, part = map.to.front();
  ElementMap segments{map.from, {}, {}};
  int64_t begin = 0;
  for (int64_t i = 0; i < perMember; ++i) {
    const ElementRun &first = runs[i];
    if (first.step != 1 || first.to != begin)
      return map;
    for (int64_t member = 1; member < members; ++member) {
      const ElementRun &run = runs[member * perMember + i];
      if (run.step != 1 || run.length != first.length ||
          run.to != member * part + begin ||
          run.from != first.from + member * first.length)
        return map;
    }
    segments.to.push_back(first.length);
    const ElementRun whole{first.from, begin * members, first.length * members};
    begin += first.length;
    if (ElementRun *last =
            segments.runs.empty() ? nullptr : &segments.runs.back();
        last && last->from + last->length == whole.from)
      last->length += whole.length;
    else
      segments.runs.push_back(whole);
  }
  return begin == part ? segments : map;
}

ElementMap ElementMap::bySegments(int64_t members) const {
  if (std::any_of(runs.begin(), runs.end(),
                  [](const ElementRun &run) { return run.step != 1; }))
    return *this;
  return byTargets(byTargets(*this, members).inverse(), members).inverse();
}

ElementMap weft::sharding::interleave(const std::vector<int64_t> &parts,
                                      int64_t blocks) {
  const int64_t size = total(parts);
  ElementMap map{{size}, {size}, {}};
  int64_t to = 0;
  for (int64_t block = 0; block < blocks; ++block) {
    int64_t start = 0;
    for (int64_t part : parts) {
      const int64_t length = part / blocks;
      map.runs.push_back({start + block * length, to, length});
      to += length;
      start += part;
    }
  }
  return map;
}
