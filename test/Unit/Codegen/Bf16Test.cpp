//===- Bf16Test.cpp - Numbers of 16 bits ----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bf16 is carried as the integer of its bits, so that LLVM forms no operation
// on it that needs a library.

#include "KernelText.h"

#include <gtest/gtest.h>

using namespace weft::test;

namespace {

/// Behind a concatenation the absolute value and the extension meet as `and`
/// and `shl` on bits, which are those of a `fabs` on bf16.
TEST(Bf16, MagnitudesBesideConstants) {
  constexpr int rows = 8, columns = 16, count = rows * columns;
  std::string given = tensor({2, rows, columns}, "bf16");
  std::string known = tensor({1, rows, columns}, "bf16");
  std::string whole = tensor({3, rows, columns}, "bf16");
  std::string wide = tensor({3, rows, columns}, "f32"), values;
  std::vector<uint16_t> x(2 * count);
  std::vector<float> want;
  for (int i = 0; i < 2 * count; ++i) {
    want.push_back(0.5f * i);
    x[i] = toBf16(i % 3 ? -want[i] : want[i]);
  }
  for (int i = 0; i < count; ++i) {
    values += i == 0 ? "[[[" : i % columns == 0 ? "], [" : ", ";
    values += "-" + std::to_string(i) + ".5";
    want.push_back(-0.5f - i);
  }
  KernelRunner kernels(function(
      "f", {given}, {wide},
      splat("%c", values + "]]]", known) +
          elementwise("%a", {"%0"}, given, "math.absf %a0") +
          "%d = tensor.concat dim(0) %a, %c : (" + given + ", " + known +
          ") -> " + whole + "\n" +
          mixed("%y", {"%d"}, {whole}, wide, "arith.extf %a0 : bf16 to f32"),
      {"%y"}));
  ASSERT_TRUE(kernels.compiled()) << kernels.messages();
  std::vector<float> y(3 * count);
  kernels.run("f", {x.data(), y.data()});
  EXPECT_EQ(y, want);
}

/// Selection and a change of type move bits: a signalling NaN stays one.
TEST(Bf16, BitsAreMoved) {
  std::string halves = tensor({20}, "bf16"), bits = tensor({20}, "i16"),
              flags = tensor({20}, "i1");
  std::vector<uint16_t> x(20, 0x7f81), y(20, 0x8000), z(20), integers(20);
  std::vector<uint8_t> on(20);
  for (int i = 0; i < 20; ++i)
    on[i] = i % 2;
  KernelRunner kernels(
      function("f", {flags, halves, halves}, {halves, bits},
               mixed("%z", {"%0", "%1", "%2"}, {flags, halves, halves}, halves,
                     "arith.select %a0, %a1, %a2 : bf16") +
                   mixed("%n", {"%z"}, {halves}, bits,
                         "arith.bitcast %a0 : bf16 to i16"),
               {"%z", "%n"}));
  kernels.run("f", {on.data(), x.data(), y.data(), z.data(), integers.data()});
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(z[i], i % 2 ? 0x7f81 : 0x8000) << i;
  EXPECT_EQ(z, integers);
}

/// Comparisons are of numbers, not of bits.
TEST(Bf16, Comparison) {
  std::vector<uint16_t> x = {0x8000, 0xbf80, 0x7fc0, 0x3f80},
                        y = {0x0000, 0x3f80, 0x7fc0, 0xbf80};
  std::string halves = tensor({4}, "bf16"), flags = tensor({4}, "i1");
  std::vector<uint8_t> less(4), equal(4);
  auto compare = [&](const char *result, std::string predicate) {
    return mixed(result, {"%0", "%1"}, {halves, halves}, flags,
                 "arith.cmpf " + predicate + ", %a0, %a1 : bf16");
  };
  KernelRunner kernels(function("f", {halves, halves}, {flags, flags},
                                compare("%l", "olt") + compare("%e", "oeq"),
                                {"%l", "%e"}));
  kernels.run("f", {x.data(), y.data(), less.data(), equal.data()});
  EXPECT_EQ(less, (std::vector<uint8_t>{0, 1, 0, 0}));
  EXPECT_EQ(equal, (std::vector<uint8_t>{1, 0, 0, 0}));
}

} // namespace
