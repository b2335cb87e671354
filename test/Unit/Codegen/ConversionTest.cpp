//===- ConversionTest.cpp - Conversions and integer functions -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between all types of numbers, and functions of one integer, in
// vectors and in the elements left over behind them.

#include "KernelText.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

using namespace weft::test;

namespace {

template <typename T> std::string nameOf() {
  if (std::is_same_v<T, bool>)
    return "i1";
  return (std::is_floating_point_v<T> ? "f" : "i") +
         std::to_string(8 * sizeof(T));
}

/// A predicate is a byte in memory; std::vector<bool> is not.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <typename From, typename To>
std::vector<Stored<To>> apply(const std::string &expression,
                              const std::vector<Stored<From>> &given) {
  std::vector<Stored<From>> x = given;
  std::vector<Stored<To>> y(x.size());
  std::string from = tensor({int64_t(x.size())}, nameOf<From>());
  std::string to = tensor({int64_t(x.size())}, nameOf<To>());
  KernelRunner kernels(function(
      "f", {from}, {to}, mixed("%y", {"%0"}, {from}, to, expression), {"%y"}));
  EXPECT_TRUE(kernels.compiled()) << kernels.messages();
  if (kernels.compiled())
    kernels.run("f", {x.data(), y.data()});
  return y;
}

template <typename From, typename To>
std::vector<Stored<To>> convert(const std::string &op,
                                const std::vector<Stored<From>> &x) {
  return apply<From, To>(
      op + " %a0 : " + nameOf<From>() + " to " + nameOf<To>(), x);
}

//===----------------------------------------------------------------------===//
// Numbers to integers
//===----------------------------------------------------------------------===//

/// Numbers around the limits of all integer types.
template <typename T> std::vector<T> numbers() {
  std::vector<T> x = {0,
                      T(-0.0),
                      T(0.5),
                      T(0.99),
                      T(1.5),
                      T(2.5),
                      std::numeric_limits<T>::infinity(),
                      std::numeric_limits<T>::max(),
                      std::numeric_limits<T>::denorm_min()};
  for (int bits : {1, 7, 8, 15, 16, 24, 31, 32, 53, 63, 64})
    for (T around : {T(-1), T(-0.5), T(0), T(0.5), T(1)}) {
      x.push_back(std::ldexp(T(1), bits) + around);
      x.push_back(std::nextafter(x.back(), T(0)));
    }
  size_t size = x.size();
  for (size_t i = 0; i < size; ++i)
    x.push_back(-x[i]);
  x.push_back(std::numeric_limits<T>::quiet_NaN());
  return x;
}

/// Towards zero; the nearest limit beyond the limits; 0 for NaN.
template <typename To> To saturated(long double x) {
  if (std::isnan(x))
    return 0;
  long double low = std::numeric_limits<To>::min(),
              high = std::numeric_limits<To>::max();
  x = std::trunc(x);
  return x < low ? To(low) : x > high ? std::numeric_limits<To>::max() : To(x);
}

template <typename From, typename To> void expectSaturation() {
  auto x = numbers<From>();
  auto got = convert<From, To>("arith.fptosi", x);
  using Unsigned = std::make_unsigned_t<To>;
  auto natural = convert<From, To>("arith.fptoui", x);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(got[i], saturated<To>(x[i])) << nameOf<To>() << " of " << x[i];
    EXPECT_EQ(Unsigned(natural[i]), saturated<Unsigned>(x[i]))
        << "unsigned " << nameOf<To>() << " of " << x[i];
  }
}

TEST(Conversion, NumbersToIntegersSaturate) {
  expectSaturation<float, int8_t>();
  expectSaturation<float, int16_t>();
  expectSaturation<float, int32_t>();
  expectSaturation<float, int64_t>();
  expectSaturation<double, int8_t>();
  expectSaturation<double, int32_t>();
  expectSaturation<double, int64_t>();
}

TEST(Conversion, NumbersToBits) {
  std::vector<float> x = {0, 0.5, 1, 7, -0.5, -1, -7, NAN};
  EXPECT_EQ((convert<float, bool>("arith.fptoui", x)),
            (std::vector<uint8_t>{0, 0, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ((convert<float, bool>("arith.fptosi", x)),
            (std::vector<uint8_t>{0, 0, 0, 0, 0, 1, 1, 0}))
      << "a signed bit is 0 or -1";
}

//===----------------------------------------------------------------------===//
// Integers to numbers and integers
//===----------------------------------------------------------------------===//

template <typename T> std::vector<T> integers() {
  std::vector<T> x = {0, 1, 2, 3, 5, 100};
  for (int bits = 1; bits < int(8 * sizeof(T)); ++bits)
    for (int around : {-1, 0, 1})
      x.push_back(T((uint64_t(1) << bits) + around));
  // Halfway between two numbers of type f32 or f64, and next to it.
  for (uint64_t odd : {0x1000001ull, 0x1000003ull, 0x20000000000001ull,
                       0x4000004000000001ull, 0x7fffffbfffffffffull})
    x.push_back(T(odd));
  size_t size = x.size();
  for (size_t i = 0; i < size; ++i)
    x.push_back(T(-uint64_t(x[i])));
  return x;
}

template <typename From, typename To> void expectNumbers() {
  auto x = integers<From>();
  auto got = convert<From, To>("arith.sitofp", x);
  auto natural = convert<From, To>("arith.uitofp", x);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(got[i], To(x[i])) << nameOf<From>() << " " << int64_t(x[i]);
    EXPECT_EQ(natural[i], To(std::make_unsigned_t<From>(x[i])))
        << "unsigned " << nameOf<From>() << " " << int64_t(x[i]);
  }
}

TEST(Conversion, IntegersToNumbers) {
  expectNumbers<int8_t, float>();
  expectNumbers<int32_t, float>();
  expectNumbers<int64_t, float>();
  expectNumbers<int32_t, double>();
  expectNumbers<int64_t, double>();
}

TEST(Conversion, BitsToNumbersAndIntegers) {
  std::vector<uint8_t> x = {0, 1, 1, 0, 1};
  EXPECT_EQ((convert<bool, float>("arith.uitofp", x)),
            (std::vector<float>{0, 1, 1, 0, 1}));
  EXPECT_EQ((convert<bool, float>("arith.sitofp", x)),
            (std::vector<float>{0, -1, -1, 0, -1}));
  EXPECT_EQ((convert<bool, int32_t>("arith.extui", x)),
            (std::vector<int32_t>{0, 1, 1, 0, 1}));
  EXPECT_EQ((convert<bool, int64_t>("arith.extsi", x)),
            (std::vector<int64_t>{0, -1, -1, 0, -1}));
}

template <typename Narrow, typename Wide> void expectWidths() {
  auto x = integers<Narrow>();
  auto wider = convert<Narrow, Wide>("arith.extsi", x);
  auto natural = convert<Narrow, Wide>("arith.extui", x);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(wider[i], Wide(x[i]));
    EXPECT_EQ(natural[i], Wide(std::make_unsigned_t<Narrow>(x[i])));
  }
  auto y = integers<Wide>();
  auto narrower = convert<Wide, Narrow>("arith.trunci", y);
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(narrower[i], Narrow(y[i]));
}

TEST(Conversion, Widths) {
  expectWidths<int8_t, int16_t>();
  expectWidths<int8_t, int32_t>();
  expectWidths<int8_t, int64_t>();
  expectWidths<int32_t, int64_t>();
  EXPECT_EQ((convert<int32_t, bool>("arith.trunci", {0, 1, 2, 3, -1})),
            (std::vector<uint8_t>{0, 1, 0, 1, 1}));
}

TEST(Conversion, Bitcast) {
  std::vector<float> x = {0, -0.0f, 1, -2.5f, INFINITY, 1e-40f};
  auto bits = convert<float, int32_t>("arith.bitcast", x);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(bits[i], std::bit_cast<int32_t>(x[i]));
  auto back = convert<int32_t, float>("arith.bitcast", bits);
  EXPECT_EQ(std::memcmp(back.data(), x.data(), 4 * x.size()), 0);
}

TEST(Conversion, FloatWidths) {
  auto x = numbers<double>();
  auto narrow = convert<double, float>("arith.truncf", x);
  for (size_t i = 0; i + 1 < x.size(); ++i) // but the NaN at the end
    EXPECT_EQ(narrow[i], float(x[i]));
  auto wide = convert<float, double>("arith.extf", narrow);
  for (size_t i = 0; i + 1 < x.size(); ++i)
    EXPECT_EQ(wide[i], double(narrow[i]));
}

//===----------------------------------------------------------------------===//
// Functions of one integer
//===----------------------------------------------------------------------===//

template <typename T> void expectBitFunctions() {
  auto x = integers<T>();
  using Unsigned = std::make_unsigned_t<T>;
  auto of = [&](const char *op) {
    return apply<T, T>(std::string(op) + " %a0 : " + nameOf<T>(), x);
  };
  auto abs = of("math.absi"), leading = of("math.ctlz"),
       trailing = of("math.cttz"), set = of("math.ctpop");
  for (size_t i = 0; i < x.size(); ++i) {
    Unsigned bits = x[i];
    EXPECT_EQ(abs[i], T(x[i] < 0 ? Unsigned(-bits) : bits)) << int64_t(x[i]);
    EXPECT_EQ(leading[i], std::countl_zero(bits)) << int64_t(x[i]);
    EXPECT_EQ(trailing[i], std::countr_zero(bits)) << int64_t(x[i]);
    EXPECT_EQ(set[i], std::popcount(bits)) << int64_t(x[i]);
  }
}

TEST(IntegerFunctions, AllWidths) {
  expectBitFunctions<int8_t>();
  expectBitFunctions<int16_t>();
  expectBitFunctions<int32_t>();
  expectBitFunctions<int64_t>();
}

TEST(IntegerFunctions, OfBits) {
  std::vector<uint8_t> x = {0, 1}, same = {0, 1}, other = {1, 0};
  auto of = [&](const char *op) {
    return apply<bool, bool>(std::string(op) + " %a0 : i1", x);
  };
  EXPECT_EQ(of("math.absi"), same);
  EXPECT_EQ(of("math.ctlz"), other);
  EXPECT_EQ(of("math.cttz"), other);
  EXPECT_EQ(of("math.ctpop"), same);
}

} // namespace
