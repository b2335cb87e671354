//===- ElementMapTest.cpp - Elements that move along a dimension ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/ElementMap.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <map>
#include <numeric>
#include <random>

using namespace weft::sharding;

namespace {

/// Three thirds of `3 * h` columns over `n` members, in units of h / n.
int64_t sentOfThirds(int64_t n) {
  int64_t h = 3 * n;
  ElementMap map{{3 * h}, {h, h, h}, {{0, 0, 3 * h}}};
  EXPECT_EQ(map.dividedBy(n).check(n), "");
  return map.dividedBy(n).mostSent(n) / 3;
}

TEST(ElementMap, ThirdsMoveLittle) {
  EXPECT_EQ(sentOfThirds(1), 0);
  EXPECT_EQ(sentOfThirds(2), 1);
  EXPECT_EQ(sentOfThirds(3), 2);
  EXPECT_EQ(sentOfThirds(4), 2);
  EXPECT_EQ(sentOfThirds(8), 3);
  EXPECT_EQ(sentOfThirds(16), 3);
}

TEST(ElementMap, HalosAndTurns) {
  ElementMap shifted{{256}, {256}, {{1, 0, 1023}}};
  EXPECT_EQ(shifted.mostSent(4), 1);
  ElementMap turned{{256}, {256}, {{1023, 0, 1024, -1}}};
  EXPECT_EQ(turned.mostSent(4), 256);
  ElementMap everySecond{{256}, {64}, {{0, 0, 256, 2}}};
  EXPECT_EQ(everySecond.check(4), "");
  EXPECT_EQ(everySecond.mostSent(4), 128);
}

TEST(ElementMap, SaysWhatIsWrong) {
  auto check = [](ElementMap map) { return map.check(2); };
  EXPECT_EQ(check({{0}, {4}, {}}),
            "parts must have at least one element, got 0");
  EXPECT_EQ(check({{4}, {4}, {{0, 0, 0}}}),
            "a run must have at least one element and a step that is not 0, "
            "got 0 by 1");
  EXPECT_EQ(check({{4}, {4}, {{0, 0, 2, 0}}}),
            "a run must have at least one element and a step that is not 0, "
            "got 2 by 0");
  EXPECT_EQ(check({{4}, {4}, {{0, 0, 9}}}), "a run of 9 by 1 does not fit");
  EXPECT_EQ(check({{4}, {4}, {{1, 0, 8}}}), "a run takes elements 1 to 8 of 8");
  EXPECT_EQ(check({{4}, {4}, {{1, 0, 3, -1}}}),
            "a run takes elements 1 to -1 of 8");
  EXPECT_EQ(check({{4}, {2}, {{0, 1, 4}}}),
            "a run goes to elements 1 to 4 of 4");
  EXPECT_EQ(check({{4}, {4}, {{0, 2, 2}, {4, 0, 3}}}),
            "two runs go to element 2");
}

/// The member and the place of every position of the segments.
std::vector<std::pair<int64_t, int64_t>>
placesOf(const std::vector<int64_t> &parts, int64_t members) {
  std::vector<std::pair<int64_t, int64_t>> places;
  int64_t held = 0;
  for (int64_t part : parts) {
    for (int64_t member = 0; member < members; ++member)
      for (int64_t i = 0; i < part; ++i)
        places.emplace_back(member, held + i);
    held += part;
  }
  return places;
}

TEST(ElementMap, InterleavesParts) {
  ElementMap map = interleave({4, 2}, 2);
  EXPECT_EQ(map, (ElementMap{
                     {6}, {6}, {{0, 0, 2}, {4, 2, 1}, {2, 3, 2}, {5, 5, 1}}}));
  EXPECT_EQ(map.check(1), "");
  EXPECT_EQ(
      map.inverse(),
      (ElementMap{{6}, {6}, {{0, 0, 2}, {3, 2, 2}, {2, 4, 1}, {5, 5, 1}}}));
  EXPECT_EQ(map.inverse().inverse(), map);
}

/// Where each element of what the members hold comes from.
std::map<std::pair<int64_t, int64_t>, std::pair<int64_t, int64_t>>
sourcesOf(const ElementMap &map, int64_t members) {
  std::map<std::pair<int64_t, int64_t>, std::pair<int64_t, int64_t>> sources;
  map.forEachPiece(members, [&](const ElementMap::Piece &piece) {
    for (int64_t i = 0; i < piece.length; ++i)
      sources[{piece.receiver, piece.to + i}] = {piece.sender,
                                                 piece.from + i * piece.step};
  });
  return sources;
}

/// As many runs for groups of all sizes.
TEST(ElementMap, BlocksBecomeSegments) {
  for (int64_t members : {2, 3, 4, 12}) {
    ElementMap map = interleave({48, 24, 12}, members).dividedBy(members);
    ElementMap segments = map.bySegments(members);
    std::vector<int64_t> parts = {48 / members, 24 / members, 12 / members};
    EXPECT_EQ(segments, (ElementMap{map.from, parts, {{0, 0, 84}}}));
    EXPECT_EQ(segments.check(members), "");
    EXPECT_EQ(sourcesOf(segments, members), sourcesOf(map, members));
    EXPECT_EQ(segments.mostSent(members), map.mostSent(members));
    EXPECT_EQ(map.inverse().bySegments(members), segments.inverse());
  }
  // Blocks of other sizes than the members' parts.
  ElementMap small = interleave({4, 4}, 4).dividedBy(2);
  EXPECT_EQ(sourcesOf(small.bySegments(2), 2), sourcesOf(small, 2));
  // Steps, and a part of what a member gets.
  for (const ElementMap &map : {ElementMap{{4}, {4}, {{7, 0, 8, -1}}},
                                ElementMap{{4}, {4}, {{0, 0, 2}, {2, 4, 2}}}})
    EXPECT_EQ(map.bySegments(2), map);
}

/// Random maps, against element by element.
TEST(ElementMap, PiecesAreTheElements) {
  std::mt19937 random(7);
  auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  int tried = 0;
  while (tried < 2000) {
    int64_t members = draw(1, 6);
    ElementMap map;
    for (auto *parts : {&map.from, &map.to})
      for (int64_t i = draw(1, 3); i > 0; --i)
        parts->push_back(draw(1, 5));
    auto before = placesOf(map.from, members),
         after = placesOf(map.to, members);
    for (int64_t i = draw(1, 3); i > 0; --i)
      map.runs.push_back({draw(0, before.size() - 1), draw(0, after.size() - 1),
                          draw(1, after.size()), draw(-3, 3)});
    if (!map.check(members).empty())
      continue;
    ++tried;
    using Place = std::pair<int64_t, int64_t>;
    std::map<Place, Place> expected, found;
    std::vector<int64_t> sent(members);
    for (const ElementRun &run : map.runs)
      for (int64_t i = 0; i < run.length; ++i) {
        Place from = before[run.from + i * run.step], to = after[run.to + i];
        expected[to] = from;
        sent[from.first] += from.first != to.first;
      }
    map.forEachPiece(members, [&](const ElementMap::Piece &piece) {
      for (int64_t i = 0; i < piece.length; ++i)
        found[{piece.receiver, piece.to + i}] = {piece.sender,
                                                 piece.from + i * piece.step};
    });
    ASSERT_EQ(found, expected);
    EXPECT_EQ(map.mostSent(members),
              *std::max_element(sent.begin(), sent.end()));
  }
}

} // namespace
