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
template <typename T>
void expectAllPairs(const char *op, Reference reference,
                    std::string flags = "") {
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
  KernelRunner kernels(
      function("f", {type, type}, {type},
               elementwise("%y", {"%0", "%1"}, type,
                           std::string(op) + " %a0, %a1" + flags),
               {"%y"}));
  std::vector<T> got(x.size());
  kernels.run("f", {x.data(), y.data(), got.data()});
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(got[i], T(reference(x[i], y[i])))
        << op << " " << type << " of " << int64_t(x[i]) << " and "
        << int64_t(y[i]);
}

void expectAllWidths(const char *op, Reference reference,
                     std::string flags = "") {
  expectAllPairs<int8_t>(op, reference, flags);
  expectAllPairs<int32_t>(op, reference, flags);
  expectAllPairs<int64_t>(op, reference, flags);
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

template <typename T> void expectPowers() {
  expectAllPairs<T>("math.ipowi", [](int64_t x, int64_t n) -> int64_t {
    if (n < 0 && x != 1 && x != -1)
      return x == 0 ? -1 : 0;
    uint64_t result = 1, square = x;
    for (uint64_t rest = n < 0 ? n & 1 : n; rest != 0; rest >>= 1) {
      result *= rest & 1 ? square : 1;
      square *= square;
    }
    return result;
  });
}

TEST(Integer, Powers) {
  expectPowers<int8_t>();
  expectPowers<int32_t>();
  expectPowers<int64_t>();
}

TEST(Integer, Logic) {
  expectAllWidths("arith.andi", [](int64_t x, int64_t y) { return x & y; });
  expectAllWidths("arith.ori", [](int64_t x, int64_t y) { return x | y; });
  expectAllWidths("arith.xori", [](int64_t x, int64_t y) { return x ^ y; });
}

/// Overflow wraps around, whatever a flag promises.
TEST(Integer, SumsAndProducts) {
  for (const char *flags : {"", " overflow<nsw, nuw>"}) {
    expectAllWidths(
        "arith.addi", [](uint64_t x, uint64_t y) { return int64_t(x + y); },
        flags);
    expectAllWidths(
        "arith.subi", [](uint64_t x, uint64_t y) { return int64_t(x - y); },
        flags);
    expectAllWidths(
        "arith.muli", [](uint64_t x, uint64_t y) { return int64_t(x * y); },
        flags);
  }
}

TEST(Integer, MinimaAndMaxima) {
  expectAllWidths("arith.maxsi",
                  [](int64_t x, int64_t y) { return std::max(x, y); });
  expectAllWidths("arith.minsi",
                  [](int64_t x, int64_t y) { return std::min(x, y); });
  // Numbers of one width, extended with their signs, keep their order.
  expectAllWidths("arith.maxui", [](uint64_t x, uint64_t y) {
    return int64_t(std::max(x, y));
  });
  expectAllWidths("arith.minui", [](uint64_t x, uint64_t y) {
    return int64_t(std::min(x, y));
  });
}

/// The bits of two tensors of i1, combined in all four ways.
std::vector<uint8_t> combineBits(const std::string &op) {
  std::string type = tensor({20}, "i1");
  std::vector<uint8_t> x(20), y(20), z(20, 7);
  for (int i = 0; i < 20; ++i) {
    x[i] = i & 1;
    y[i] = i >> 1 & 1;
  }
  KernelRunner kernels(function(
      "f", {type, type}, {type},
      elementwise("%z", {"%0", "%1"}, type, op + " %a0, %a1"), {"%z"}));
  EXPECT_TRUE(kernels.compiled()) << kernels.messages();
  kernels.run("f", {x.data(), y.data(), z.data()});
  for (int i = 4; i < 20; ++i)
    EXPECT_EQ(z[i], z[i % 4]) << "vectors and what is left are the same";
  z.resize(4);
  return z;
}

/// For (0, 0), (1, 0), (0, 1) and (1, 1); as a signed number 1 is -1.
TEST(Integer, OperationsOnBits) {
  using Bits = std::vector<uint8_t>;
  EXPECT_EQ(combineBits("arith.andi"), (Bits{0, 0, 0, 1}));
  EXPECT_EQ(combineBits("arith.ori"), (Bits{0, 1, 1, 1}));
  EXPECT_EQ(combineBits("arith.xori"), (Bits{0, 1, 1, 0}));
  EXPECT_EQ(combineBits("arith.addi"), (Bits{0, 1, 1, 0}));
  EXPECT_EQ(combineBits("arith.subi"), (Bits{0, 1, 1, 0}));
  EXPECT_EQ(combineBits("arith.muli"), (Bits{0, 0, 0, 1}));
  EXPECT_EQ(combineBits("arith.maxsi"), (Bits{0, 0, 0, 1}));
  EXPECT_EQ(combineBits("arith.minsi"), (Bits{0, 1, 1, 1}));
  EXPECT_EQ(combineBits("arith.maxui"), (Bits{0, 1, 1, 1}));
  EXPECT_EQ(combineBits("arith.minui"), (Bits{0, 0, 0, 1}));
  EXPECT_EQ(combineBits("arith.shli"), (Bits{0, 1, 0, 0}));
  EXPECT_EQ(combineBits("arith.shrui"), (Bits{0, 1, 0, 0}));
  EXPECT_EQ(combineBits("arith.shrsi"), (Bits{0, 1, 0, 1}));
  EXPECT_EQ(combineBits("math.ipowi"), (Bits{1, 1, 1, 1}));
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
