//===- HaloTest.cpp - Windows over a split dimension ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/Halo.h"

#include "gtest/gtest.h"

#include <random>

using namespace weft::sharding;

namespace {

TEST(Halo, OneOfEachNeighbour) {
  WindowedDim windows{32, 32, 1, 3, 1, 1};
  HaloExchange exchange = *windows.exchange(4);
  EXPECT_EQ(exchange.map.from, std::vector<int64_t>({8}));
  EXPECT_EQ(exchange.map.to, std::vector<int64_t>({1, 8, 1}));
  EXPECT_EQ(exchange.map.runs.size(), 3u);
  EXPECT_EQ(exchange.map.mostSent(4), 2);
  EXPECT_EQ(exchange.length, 10);
}

TEST(Halo, NothingMovesWhereWindowsStayInAShard) {
  WindowedDim halves{32, 16, 2, 2, 0, 1};
  EXPECT_FALSE(halves.exchange(4)->moves());
  // Every second element, and a kernel of one.
  WindowedDim strided{32, 16, 2, 1, 0, 1};
  EXPECT_FALSE(strided.exchange(4)->moves());
  EXPECT_EQ(strided.exchange(4)->length, 7);
}

TEST(Halo, SizeDoesNotDependOnTheMembers) {
  for (int64_t members : {2, 8, 64}) {
    WindowedDim windows{1024, 512, 2, 7, 3, 1};
    EXPECT_EQ(windows.exchange(members)->map.runs.size(), 6u);
    // Three behind, and two before where there is a member before.
    EXPECT_EQ(windows.exchange(members)->map.mostSent(members),
              members == 2 ? 3 : 5);
  }
}

TEST(Halo, NoneWhereItCannotBe) {
  EXPECT_FALSE((WindowedDim{30, 32, 1, 3, 1, 1}.exchange(4)));
  EXPECT_FALSE((WindowedDim{32, 30, 1, 3, 1, 1}.exchange(4)));
  // A halo of more elements than a map may list.
  EXPECT_FALSE((WindowedDim{1024, 1024, 1, 129, 64, 1}.exchange(4)));
}

/// What a member has after the exchange: numbers of elements of the dimension
/// as the windows see it, with zeros between them; -1 is a zero, -2 undefined.
std::vector<int64_t> received(const WindowedDim &windows,
                              const HaloExchange &exchange, int64_t members,
                              int64_t member) {
  const int64_t spread = exchange.interior + 1;
  std::vector<std::vector<int64_t>> held(members);
  for (int64_t i = 0; i < exchange.size; ++i)
    held[i / (exchange.size / members)].push_back(i % spread == 0 ? i / spread
                                                                  : -1);
  int64_t total = 0;
  for (int64_t part : exchange.map.to)
    total += part;
  std::vector<int64_t> got(total, -2);
  if (exchange.moves()) {
    EXPECT_EQ(exchange.map.check(members), "");
    exchange.map.forEachPiece(members, [&](const ElementMap::Piece &piece) {
      for (int64_t i = 0; i < piece.length; ++i)
        if (piece.receiver == member)
          got[piece.to + i] = held[piece.sender][piece.from + i * piece.step];
    });
  } else {
    got = held[member];
  }
  std::vector<int64_t> cut(got.begin() + exchange.begin,
                           got.begin() + exchange.begin + exchange.length);
  // The zeros at the ends.
  for (int64_t i = 0; i < exchange.length; ++i) {
    int64_t position = exchange.first + exchange.distance * member + i;
    if (position < 0 || position >= exchange.size) {
      EXPECT_TRUE(exchange.reachesOver(members));
      cut[i] = -1;
    }
  }
  // And those that the op still puts in.
  std::vector<int64_t> all(exchange.low, -1);
  for (int64_t i = 0; i < exchange.length; ++i) {
    if (i != 0)
      all.insert(all.end(), exchange.dilation - 1, -1);
    all.push_back(cut[i]);
  }
  all.insert(all.end(), exchange.high, -1);
  return all;
}

TEST(Halo, WindowsOfMembersAreThoseOfTheWhole) {
  std::mt19937 random(1);
  auto pick = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  int exchanges = 0;
  for (int round = 0; round < 20000; ++round) {
    int64_t members = pick(2, 5);
    WindowedDim windows{members * pick(1, 9), members * pick(1, 6), pick(1, 4),
                        pick(1, 9),           pick(-3, 8),          pick(1, 3)};
    std::optional<HaloExchange> exchange = windows.exchange(members);
    if (!exchange)
      continue;
    ++exchanges;
    const int64_t own = windows.count / members;
    for (int64_t member = 0; member < members; ++member) {
      std::vector<int64_t> got = received(windows, *exchange, members, member);
      ASSERT_EQ(static_cast<int64_t>(got.size()),
                (own - 1) * windows.step + windows.extent);
      int64_t begin = member * own * windows.step - windows.low;
      for (size_t i = 0; i < got.size(); ++i) {
        int64_t position = begin + static_cast<int64_t>(i);
        bool isElement = position >= 0 && position % windows.dilation == 0 &&
                         position / windows.dilation < windows.size;
        ASSERT_EQ(got[i], isElement ? position / windows.dilation : -1)
            << "round " << round << ", member " << member << ", " << i;
      }
    }
  }
  EXPECT_GT(exchanges, 15000);
}

} // namespace
