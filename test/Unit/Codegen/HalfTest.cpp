//===- HalfTest.cpp - Numbers of IEEE half precision ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f16 is carried as the integer of its bits and converted in integers
// (ExpandHalf.h): every number of it, and every place where f32 is rounded to
// the next one.

#include "KernelText.h"

#include <bit>

#include <gtest/gtest.h>

using namespace weft::test;

namespace {

/// A kernel of `expression` on a row of `from`, which gives a row of `to`.
template <typename To, typename From>
std::vector<To> compute(const std::string &expression, const std::string &from,
                        const std::string &to, std::vector<From> x) {
  std::vector<To> y(x.size());
  int64_t size = x.size();
  std::string in = tensor({size}, from), out = tensor({size}, to);
  KernelRunner kernels(function(
      "f", {in}, {out}, mixed("%y", {"%0"}, {in}, out, expression), {"%y"}));
  EXPECT_TRUE(kernels.compiled()) << kernels.messages();
  kernels.run("f", {x.data(), y.data()});
  return y;
}

std::vector<uint16_t> allHalves() {
  std::vector<uint16_t> all(1 << 16);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = i;
  return all;
}

TEST(F16, EveryNumberIsExtended) {
  std::vector<uint16_t> x = allHalves();
  auto y = compute<float>("arith.extf %a0 : f16 to f32", "f16", "f32", x);
  for (size_t i = 0; i < x.size(); ++i) {
    float want = fromHalf(x[i]);
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(y[i])) << i;
    else
      EXPECT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(want))
          << i;
  }
}

/// Numbers, what lies in the middle of two, and the f32 beside that.
TEST(F16, EveryNumberIsRoundedTo) {
  std::vector<float> x;
  for (uint16_t i = 0; i < 0x7c00; ++i) {
    // Above the largest number the next one would be 65536.
    float low = fromHalf(i), high = i == 0x7bff ? 65536 : fromHalf(i + 1);
    float middle = (low + high) / 2;
    for (float number : {low, std::nextafter(middle, 0.0f), middle,
                         std::nextafter(middle, 1e9f)})
      for (float sign : {1.0f, -1.0f})
        x.push_back(sign * number);
  }
  for (float number :
       {65535.0f, 65536.0f, 1e9f, 3e38f, INFINITY, 1e-30f, 1e-45f})
    x.insert(x.end(), {number, -number});
  auto y = compute<uint16_t>("arith.truncf %a0 : f32 to f16", "f32", "f16", x);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(y[i], toHalf(x[i])) << x[i];
}

TEST(F16, NansStayQuiet) {
  auto y = compute<uint16_t>(
      "arith.truncf %a0 : f32 to f16", "f32", "f16",
      std::vector<uint32_t>{0x7f800001, 0xff800001, 0x7fc00000, 0xffffffff});
  EXPECT_EQ(y, (std::vector<uint16_t>{0x7e00, 0xfe00, 0x7e00, 0xfe00}));
}

/// A number below 2^-14 is normal in f32 alone.
TEST(F16, ClassesAreThoseOfTheType) {
  auto y = compute<uint8_t>("math.isnormal %a0 : f16", "f16", "i1",
                            std::vector<uint16_t>{0, 1, 0x03ff, 0x0400, 0xbc00,
                                                  0x7bff, 0x7c00, 0x7e00});
  EXPECT_EQ(y, (std::vector<uint8_t>{0, 0, 0, 1, 1, 1, 0, 0}));
}

/// Sums and products beyond 65504 are infinite, as IEEE 754 has it.
TEST(F16, Overflow) {
  std::vector<uint16_t> x = {0x7bff, 0xfbff, 0x7c00, 0x5bff, 0x5c00};
  auto twice = compute<uint16_t>("arith.addf %a0, %a0 : f16", "f16", "f16", x);
  EXPECT_EQ(twice,
            (std::vector<uint16_t>{0x7c00, 0xfc00, 0x7c00, 0x5fff, 0x6000}));
  auto square = compute<uint16_t>("arith.mulf %a0, %a0 : f16", "f16", "f16", x);
  EXPECT_EQ(square,
            (std::vector<uint16_t>{0x7c00, 0x7c00, 0x7c00, 0x7bfe, 0x7c00}));
}

TEST(F16, BitsAreMoved) {
  std::vector<uint16_t> x = allHalves();
  EXPECT_EQ(
      compute<uint16_t>("arith.bitcast %a0 : f16 to i16", "f16", "i16", x), x);
  EXPECT_EQ(
      compute<uint16_t>("arith.bitcast %a0 : f16 to bf16", "f16", "bf16", x),
      x);
}

} // namespace
