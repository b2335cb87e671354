//===- AxisRefTest.cpp - Relations between parts of mesh axes -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AllShardings.h"

#include "gmock/gmock.h"

#include <set>

using namespace weft::sharding;
using testing::ElementsAre;

namespace {

std::vector<AxisRef> allParts(int64_t size) {
  std::vector<AxisRef> parts;
  for (int64_t pre = 1; pre <= size; ++pre)
    for (int64_t part = 2; pre * part <= size; ++part)
      if (size % (pre * part) == 0)
        parts.push_back({0, pre, part});
  return parts;
}

/// Whether some way to cut an axis of `size` has all of `boundaries`.
bool someCutHas(int64_t size, std::initializer_list<int64_t> boundaries) {
  for (const std::vector<int64_t> &digits : orderedFactorizations(size)) {
    std::set<int64_t> cuts = {1};
    int64_t product = 1;
    for (int64_t digit : digits)
      cuts.insert(product *= digit);
    if (llvm::all_of(boundaries, [&](int64_t b) { return cuts.count(b); }))
      return true;
  }
  return false;
}

TEST(AxisRef, RelationsAgreeWithTheirDefinitionsOnEveryPair) {
  for (int64_t size : {2, 4, 6, 8, 12, 24, 36, 60})
    for (const AxisRef &a : allParts(size))
      for (const AxisRef &b : allParts(size)) {
        SCOPED_TRACE(testing::Message() << a.pre << ":" << a.size << " and "
                                        << b.pre << ":" << b.size);
        std::set<int64_t> both, onlyB;
        for (int64_t i = b.pre; i < b.next(); ++i)
          (a.pre <= i && i < a.next() ? both : onlyB).insert(i);
        EXPECT_EQ(a.contains(b), onlyB.empty());
        EXPECT_EQ(a.overlaps(b), !both.empty());
        EXPECT_EQ(b.isPrefixOf(a), onlyB.empty() && a.pre == b.pre);
        EXPECT_EQ(b.isStrictPrefixOf(a),
                  onlyB.empty() && a.pre == b.pre && a.size > b.size);
        EXPECT_EQ(a.canCoexistWith(b),
                  someCutHas(size, {a.pre, a.next(), b.pre, b.next()}));
        EXPECT_EQ(a.canMergeWith(b), a.next() == b.pre);
      }
}

TEST(AxisRef, PrefixWithoutOverlapIsTheLongestThatIsLegal) {
  for (int64_t size : {4, 8, 12, 24})
    for (const AxisRef &a : allParts(size))
      for (const AxisRef &b : allParts(size)) {
        std::optional<AxisRef> longest;
        for (const AxisRef &prefix : allParts(size))
          if (prefix.isPrefixOf(a) && !prefix.overlaps(b) &&
              a.canCoexistWith(b) && (!longest || longest->size < prefix.size))
            longest = prefix;
        EXPECT_EQ(a.prefixWithoutOverlap(b), longest);
      }
}

TEST(AxisRef, PartsOfDifferentAxesHaveNothingToDoWithEachOther) {
  AxisRef a{0, 1, 4}, b{1, 1, 4};
  EXPECT_FALSE(a.contains(b));
  EXPECT_FALSE(a.overlaps(b));
  EXPECT_FALSE(a.isPrefixOf(b));
  EXPECT_FALSE(a.canMergeWith({1, 4, 2}));
  EXPECT_TRUE(a.canCoexistWith(b));
  EXPECT_EQ(a.prefixWithoutOverlap(b), a);
}

TEST(AxisRef, AnAxisOfSizeOneOverlapsItself) {
  AxisRef unit{0, 1, 1};
  EXPECT_TRUE(unit.overlaps(unit));
  EXPECT_FALSE(unit.canMergeWith(unit));
}

TEST(AxisList, PrefixComparesAllButTheLastElementExactly) {
  AxisRef a{0, 1, 4}, aMajor{0, 1, 2}, b{1, 1, 2}, c{2, 1, 8};
  EXPECT_TRUE(isPrefix({}, {}));
  EXPECT_FALSE(isStrictPrefix({}, {}));
  EXPECT_TRUE(isStrictPrefix({}, {a}));
  EXPECT_TRUE(isStrictPrefix({aMajor}, {a}));
  EXPECT_TRUE(isStrictPrefix({aMajor}, {a, b}));
  EXPECT_TRUE(isStrictPrefix({b, aMajor}, {b, a, c}));
  EXPECT_TRUE(isPrefix({a, b}, {a, b}));
  EXPECT_FALSE(isStrictPrefix({a, b}, {a, b}));
  EXPECT_FALSE(isPrefix({aMajor, b}, {a, b}));
  EXPECT_FALSE(isPrefix({a, b}, {a}));
  EXPECT_FALSE(isPrefix({b}, {a, b}));
}

TEST(AxisList, AppendMergingJoinsNeighbours) {
  AxisList list;
  for (AxisRef ref :
       {AxisRef{0, 1, 2}, AxisRef{0, 2, 2}, AxisRef{1, 1, 2}, AxisRef{0, 4, 2}})
    appendMerging(list, ref);
  EXPECT_THAT(
      list, ElementsAre(AxisRef{0, 1, 4}, AxisRef{1, 1, 2}, AxisRef{0, 4, 2}));
  EXPECT_EQ(numShards(list), 16);
  EXPECT_EQ(numShards({}), 1);
}

} // namespace
