//===- HappensBeforeTest.cpp - Orders that schedules must keep ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The clauses by which Shardy orders 1F1B and ZB-H1: an independent description
// of the same schedules.
//
//===----------------------------------------------------------------------===//

#include "Tables.h"

#include <map>

using namespace weft::timeline;

namespace {

class Order {
public:
  explicit Order(const Row &row) {
    for (size_t i = 0; i < row.size(); ++i)
      index[{row[i].kind, row[i].microbatch}] = i;
  }
  /// Holds as well where there is no such micro-batch.
  bool isBefore(ActionKind first, int32_t i, ActionKind second,
                int32_t j) const {
    const auto a = index.find({first, i}), b = index.find({second, j});
    return a == index.end() || b == index.end() || a->second < b->second;
  }

private:
  std::map<std::pair<ActionKind, int32_t>, size_t> index;
};

constexpr ActionKind F = ActionKind::Forward, B = ActionKind::Backward,
                     I = ActionKind::InputGradient,
                     W = ActionKind::WeightGradient;

TEST(HappensBefore, OneForwardOneBackward) {
  forEachSize([](int32_t p, int32_t m) {
    const Table table = tableOf("1f1b", {.ranks = p, .microbatches = m});
    for (int32_t r = 0; r < p; ++r) {
      const Order order(table.rows[r]);
      for (int32_t i = 0; i < m; ++i) {
        EXPECT_TRUE(order.isBefore(B, i, F, i + p - r)) << p << m << r << i;
        EXPECT_TRUE(order.isBefore(F, i + p - r - 1, B, i)) << p << m << r << i;
      }
    }
  });
}

TEST(HappensBefore, ZeroBubbleH1) {
  forEachSize([](int32_t p, int32_t m) {
    const Table table = tableOf("zb-h1", {.ranks = p, .microbatches = m});
    for (int32_t r = 0; r < p; ++r) {
      const Order order(table.rows[r]);
      for (int32_t i = 0; i < m; ++i) {
        EXPECT_TRUE(order.isBefore(I, i, F, i + p - r)) << p << m << r << i;
        EXPECT_TRUE(order.isBefore(F, i + p - r - 1, I, i)) << p << m << r << i;
        EXPECT_TRUE(order.isBefore(W, i, F, i + p)) << p << m << r << i;
        EXPECT_TRUE(order.isBefore(I, i + r, W, i)) << p << m << r << i;
        EXPECT_TRUE(order.isBefore(W, i, I, i + r + 1)) << p << m << r << i;
      }
    }
  });
}

/// With e(r) forwards before the first backward on rank r, and as many weight
/// gradients after the last on the rank opposite.
TEST(HappensBefore, ZeroBubbleH2) {
  forEachSize([](int32_t p, int32_t m) {
    if (m < 2 * p - 1)
      return;
    const Table table = tableOf("zb-h2", {.ranks = p, .microbatches = m});
    for (int32_t r = 0; r < p; ++r) {
      const Order order(table.rows[r]);
      const int32_t e = 2 * (p - r) - 1, opposite = 2 * r + 1;
      for (int32_t i = 0; i < m; ++i) {
        EXPECT_TRUE(order.isBefore(I, i, F, i + e)) << p << m << r << i;
        EXPECT_TRUE(order.isBefore(F, i + e - 1, I, i)) << p << m << r << i;
        EXPECT_TRUE(order.isBefore(I, i + opposite - 1, W, i))
            << p << m << r << i;
        EXPECT_TRUE(order.isBefore(W, i, I, i + opposite)) << p << m << r << i;
      }
    }
  });
}

} // namespace
