//===- IntegerTest.cpp - Integer operations on all operands ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Divisions and shifts are defined for every pair of operands, in vectors and
// in the elements left over behind them.

#include "KernelText.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

using namespace weft::test;

namespace {

using Reference = std::function<int64_t(int64_t, int64_t)>;

template <typename T> uint64_t bits(int64_t x) {
  return std::make_unsigned_t<T>(x);
}

/// Compares `op` with `reference` for all pairs of telling numbers.
template <typename T> void expectAllPairs(const char *op, Reference reference) {
  std::vector<T> numbers = {0,
                            1,
                            -1,
                            2,
                            -2,
                            3,
                            -3,
                            7,
                            -7,
                            sizeof(T) * 8 - 1,
                            sizeof(T) * 8,
                            100,
                            std::numeric_limits<T>::max(),
                            std::numeric_limits<T>::min(),
                            std::numeric_limits<T>::min() + 1},
                 x, y;
  for (T a : numbers)
    for (T b : numbers) {
      x.push_back(a);
      y.push_back(b);
    }
  std::string type =
      tensor({int64_t(x.size())}, "i" + std::to_string(sizeof(T) * 8));
  KernelRunner kernels(function(
      "f", {type, type}, {type},
      elementwise("%y", {"%0", "%1"}, type, std::string(op) + " %a0, %a1"),
      {"%y"}));
  std::vector<T> got(x.size());
  kernels.run("f", {x.data(), y.data(), got.data()});
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(got[i], T(reference(x[i], y[i])))
        << op << " " << type << " of " << int64_t(x[i]) << " and "
        << int64_t(y[i]);
}

void expectAllWidths(const char *op, Reference reference) {
  expectAllPairs<int8_t>(op, reference);
  expectAllPairs<int32_t>(op, reference);
  expectAllPairs<int64_t>(op, reference);
}

/// Exact in 128 bits; the cast to the type wraps smallest / -1.
int64_t quotient(int64_t x, int64_t y) { return __int128(x) / y; }
int64_t rest(int64_t x, int64_t y) { return __int128(x) % y; }

TEST(Integer, SignedDivision) {
  Reference divide = [](int64_t x, int64_t y) {
    return y == 0 ? -1 : quotient(x, y);
  };
  Reference remainder = [](int64_t x, int64_t y) {
    return y == 0 ? x : rest(x, y);
  };
  Reference floor = [](int64_t x, int64_t y) {
    bool down = y != 0 && rest(x, y) != 0 && (x < 0) != (y < 0);
    return y == 0 ? -1 : quotient(x, y) - down;
  };
  Reference ceil = [](int64_t x, int64_t y) {
    bool up = y != 0 && rest(x, y) != 0 && (x < 0) == (y < 0);
    return y == 0 ? -1 : quotient(x, y) + up;
  };
  expectAllWidths("arith.divsi", divide);
  expectAllWidths("arith.remsi", remainder);
  expectAllWidths("arith.floordivsi", floor);
  expectAllWidths("arith.ceildivsi", ceil);
}

template <typename T> void expectUnsigned() {
  expectAllPairs<T>("arith.divui", [](int64_t x, int64_t y) {
    return y == 0 ? -1 : int64_t(bits<T>(x) / bits<T>(y));
  });
  expectAllPairs<T>("arith.remui", [](int64_t x, int64_t y) {
    return y == 0 ? x : int64_t(bits<T>(x) % bits<T>(y));
  });
  expectAllPairs<T>("arith.ceildivui", [](int64_t x, int64_t y) {
    return y == 0 ? -1
                  : int64_t(bits<T>(x) / bits<T>(y) +
                            (bits<T>(x) % bits<T>(y) != 0));
  });
}

template <typename T> void expectShifts() {
  constexpr uint64_t width = sizeof(T) * 8;
  expectAllPairs<T>("arith.shli", [](int64_t x, int64_t n) {
    return bits<T>(n) < width ? int64_t(bits<T>(x) << bits<T>(n)) : 0;
  });
  expectAllPairs<T>("arith.shrui", [](int64_t x, int64_t n) {
    return bits<T>(n) < width ? int64_t(bits<T>(x) >> bits<T>(n)) : 0;
  });
  expectAllPairs<T>("arith.shrsi", [](int64_t x, int64_t n) {
    return x >> std::min(bits<T>(n), width - 1);
  });
}

TEST(Integer, UnsignedDivision) {
  expectUnsigned<int8_t>();
  expectUnsigned<int32_t>();
  expectUnsigned<int64_t>();
}

TEST(Integer, Shifts) {
  expectShifts<int8_t>();
  expectShifts<int32_t>();
  expectShifts<int64_t>();
}

/// A single bit: the smallest number is -1 as well.
TEST(Integer, DivisionOfBits) {
  std::string type = tensor({4}, "i1");
  uint8_t x[] = {0, 1, 0, 1}, y[] = {0, 0, 1, 1}, quotient[4], rest[4];
  KernelRunner kernels(function(
      "f", {type, type}, {type, type},
      elementwise("%q", {"%0", "%1"}, type, "arith.divsi %a0, %a1") +
          elementwise("%r", {"%0", "%1"}, type, "arith.remsi %a0, %a1"),
      {"%q", "%r"}));
  kernels.run("f", {x, y, quotient, rest});
  const uint8_t quotients[] = {1, 1, 0, 1}, rests[] = {0, 1, 0, 0};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(quotient[i], quotients[i]) << i;
    EXPECT_EQ(rest[i], rests[i]) << i;
  }
}

} // namespace
