//===- ComparisonTest.cpp - All predicates --------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelText.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

using namespace weft::test;

namespace {

/// All pairs of `numbers`.
template <typename T>
std::pair<std::vector<T>, std::vector<T>>
pairsOf(const std::vector<T> &numbers) {
  std::vector<T> x, y;
  for (T a : numbers)
    for (T b : numbers) {
      x.push_back(a);
      y.push_back(b);
    }
  return {x, y};
}

/// What arith.cmpi or arith.cmpf gives for all pairs of numbers.
template <typename T>
void expectComparison(const std::string &comparison, const std::string &element,
                      const std::vector<T> &numbers,
                      std::function<bool(T, T)> reference) {
  auto [x, y] = pairsOf(numbers);
  std::vector<uint8_t> got(x.size(), 7);
  std::string type = tensor({int64_t(x.size())}, element);
  std::string flags = tensor({int64_t(x.size())}, "i1");
  KernelRunner kernels(function("f", {type, type}, {flags},
                                mixed("%y", {"%0", "%1"}, {type, type}, flags,
                                      comparison + ", %a0, %a1 : " + element),
                                {"%y"}));
  ASSERT_TRUE(kernels.compiled()) << kernels.messages();
  kernels.run("f", {x.data(), y.data(), got.data()});
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(got[i], reference(x[i], y[i]))
        << comparison << " " << element << " of " << double(x[i]) << " and "
        << double(y[i]);
}

template <typename T>
void expectIntegerPredicates(const std::string &element,
                             const std::vector<T> &numbers,
                             std::function<int64_t(T)> value,
                             std::function<uint64_t(T)> natural) {
  using Check = std::function<bool(T, T)>;
  const std::pair<const char *, Check> predicates[] = {
      {"eq", [&](T x, T y) { return x == y; }},
      {"ne", [&](T x, T y) { return x != y; }},
      {"slt", [&](T x, T y) { return value(x) < value(y); }},
      {"sle", [&](T x, T y) { return value(x) <= value(y); }},
      {"sgt", [&](T x, T y) { return value(x) > value(y); }},
      {"sge", [&](T x, T y) { return value(x) >= value(y); }},
      {"ult", [&](T x, T y) { return natural(x) < natural(y); }},
      {"ule", [&](T x, T y) { return natural(x) <= natural(y); }},
      {"ugt", [&](T x, T y) { return natural(x) > natural(y); }},
      {"uge", [&](T x, T y) { return natural(x) >= natural(y); }}};
  for (const auto &[name, check] : predicates)
    expectComparison<T>(std::string("arith.cmpi ") + name, element, numbers,
                        check);
}

template <typename T> void expectIntegerPredicates(const std::string &element) {
  expectIntegerPredicates<T>(
      element,
      {0, 1, 2, -1, -2, std::numeric_limits<T>::max(),
       std::numeric_limits<T>::min()},
      [](T x) { return int64_t(x); },
      [](T x) { return std::make_unsigned_t<T>(x); });
}

TEST(Comparison, Integers) {
  expectIntegerPredicates<int8_t>("i8");
  expectIntegerPredicates<int32_t>("i32");
  expectIntegerPredicates<int64_t>("i64");
  expectIntegerPredicates<uint8_t>(
      "i1", {0, 1}, [](uint8_t x) { return -int64_t(x); },
      [](uint8_t x) { return x; });
}

template <typename T>
void expectFloatPredicates(const std::string &element,
                           const std::vector<T> &numbers,
                           std::function<double(T)> value) {
  using Check = std::function<bool(double, double)>;
  const std::pair<std::string, Check> predicates[] = {
      {"eq", [](double x, double y) { return x == y; }},
      {"gt", [](double x, double y) { return x > y; }},
      {"ge", [](double x, double y) { return x >= y; }},
      {"lt", [](double x, double y) { return x < y; }},
      {"le", [](double x, double y) { return x <= y; }},
      {"ne", [](double x, double y) { return x < y || x > y; }},
      {"rd", [](double, double) { return true; }}};
  for (const auto &[name, check] : predicates) {
    auto ordered = [&](T x, T y) {
      return !std::isunordered(value(x), value(y)) && check(value(x), value(y));
    };
    auto unordered = [&](T x, T y) {
      bool isOrdered = !std::isunordered(value(x), value(y));
      // "uno": nothing but a NaN.
      return !isOrdered || (name != "rd" && check(value(x), value(y)));
    };
    expectComparison<T>("arith.cmpf o" + name, element, numbers, ordered);
    expectComparison<T>("arith.cmpf u" + (name == "rd" ? "no" : name), element,
                        numbers, unordered);
  }
  for (bool always : {false, true})
    expectComparison<T>(std::string("arith.cmpf ") +
                            (always ? "true" : "false"),
                        element, numbers, [&](T, T) { return always; });
}

template <typename T> std::vector<T> telling() {
  using Limits = std::numeric_limits<T>;
  return {0,
          T(-0.0),
          1,
          -1,
          Limits::denorm_min(),
          -Limits::denorm_min(),
          Limits::infinity(),
          -Limits::infinity(),
          Limits::quiet_NaN()};
}

TEST(Comparison, Numbers) {
  expectFloatPredicates<float>("f32", telling<float>(),
                               [](float x) { return x; });
  expectFloatPredicates<double>("f64", telling<double>(),
                                [](double x) { return x; });
  expectFloatPredicates<uint16_t>(
      "bf16", {0, 0x8000, 0x3f80, 0xbf80, 1, 0x8001, 0x7f80, 0xff80, 0x7fc0},
      [](uint16_t x) { return fromBf16(x); });
  expectFloatPredicates<uint16_t>(
      "f16", {0, 0x8000, 0x3c00, 0xbc00, 1, 0x8001, 0x7c00, 0xfc00, 0x7e00},
      [](uint16_t x) { return fromHalf(x); });
}

} // namespace
