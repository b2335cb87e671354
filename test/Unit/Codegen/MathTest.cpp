//===- MathTest.cpp - Errors of transcendental functions ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sweeps every function over its whole range of exponents and both signs and
// measures the error in units in the last place against long double.

#include "KernelRunner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace weft::test;

namespace {

constexpr int64_t count = 1 << 18;

template <typename T> constexpr const char *typeName();
template <> constexpr const char *typeName<float>() { return "f32"; }
template <> constexpr const char *typeName<double>() { return "f64"; }

std::string unary(std::string op, std::string type, int64_t n) {
  std::string tensor = "tensor<" + std::to_string(n) + "x" + type + ">";
  return "func.func private @f(%x: " + tensor + ") -> " + tensor + R"( {
    %e = tensor.empty() : )" +
         tensor + R"(
    %y = linalg.generic {indexing_maps = [#v, #v],
                         iterator_types = ["parallel"]}
        ins(%x : )" +
         tensor + ") outs(%e : " + tensor + R"() {
    ^bb0(%a: )" +
         type + ", %o: " + type + R"():
      %r = )" +
         op + " %a : " + type + R"(
      linalg.yield %r : )" +
         type + R"(
    } -> )" +
         tensor + R"(
    return %y : )" +
         tensor + "\n}";
}

/// Numbers of every magnitude, a dense sweep around zero, and special values.
template <typename T> std::vector<T> samples() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x = {0,
                      T(-0.0),
                      1,
                      -1,
                      Limits::infinity(),
                      -Limits::infinity(),
                      Limits::quiet_NaN(),
                      Limits::max(),
                      Limits::lowest(),
                      Limits::min(),
                      -Limits::min(),
                      Limits::denorm_min(),
                      -Limits::denorm_min(),
                      T(88.7228),
                      T(-87.5),
                      T(-103.9),
                      T(709.78),
                      T(-745.1)};
  std::mt19937_64 random(1);
  while (int64_t(x.size()) < count / 2) {
    uint64_t bits = random();
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    x.push_back(value);
  }
  std::uniform_real_distribution<T> near(-1, 1);
  for (int i = 0; int64_t(x.size()) < count; ++i)
    x.push_back(near(random) * T(i % 3 == 0 ? 1 : i % 3 == 1 ? 12 : 110));
  return x;
}

/// The distance to the exact value in units of the last place of T.
template <typename T> double errorOf(T got, long double exact) {
  T rounded = T(exact);
  if (std::isnan(rounded) || std::isnan(got))
    return std::isnan(rounded) && std::isnan(got)
               ? 0
               : std::numeric_limits<double>::infinity();
  if (got == rounded)
    return std::signbit(got) == std::signbit(rounded)
               ? 0
               : std::numeric_limits<double>::infinity();
  if (std::isinf(got) || std::isinf(rounded)) {
    T largest = std::numeric_limits<T>::max();
    T other = std::isinf(got) ? rounded : got;
    return std::abs(other) == largest ? 1
                                      : std::numeric_limits<double>::infinity();
  }
  T next =
      std::nextafter(std::abs(rounded), std::numeric_limits<T>::infinity());
  long double unit =
      std::isinf(next)
          ? std::abs(rounded) - std::nextafter(std::abs(rounded), T(0))
          : next - std::abs(rounded);
  return double(std::abs((long double)got - exact) / unit);
}

template <typename T>
void sweep(const char *op, long double (*exact)(long double), double bound) {
  std::vector<T> x = samples<T>(), y(x.size());
  KernelRunner kernels(unary(op, typeName<T>(), x.size()));
  kernels.run("f", {x.data(), y.data()});
  double worst = 0;
  T at = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (double error = errorOf<T>(y[i], exact(x[i])); !(error <= worst)) {
      worst = error;
      at = x[i];
    }
  EXPECT_LE(worst, bound) << op << " " << typeName<T>() << " at " << at;
  ::testing::Test::RecordProperty(std::string(op) + typeName<T>(),
                                  std::to_string(worst));
  printf("%s %s: %.2f ulp at %g\n", op, typeName<T>(), worst, double(at));
}

long double rsqrtl(long double x) { return 1 / std::sqrt(x); }

TEST(Math, Exp) {
  sweep<float>("math.exp", expl, 2);
  sweep<double>("math.exp", expl, 2);
}
TEST(Math, Expm1) {
  sweep<float>("math.expm1", expm1l, 3);
  sweep<double>("math.expm1", expm1l, 3);
}
TEST(Math, Log) {
  sweep<float>("math.log", logl, 2);
  sweep<double>("math.log", logl, 2);
}
TEST(Math, Log1p) {
  sweep<float>("math.log1p", log1pl, 3);
  sweep<double>("math.log1p", log1pl, 3);
}
TEST(Math, Tanh) {
  sweep<float>("math.tanh", tanhl, 3);
  sweep<double>("math.tanh", tanhl, 3);
}
TEST(Math, Erf) { sweep<float>("math.erf", erfl, 3); }
TEST(Math, Sqrt) {
  sweep<float>("math.sqrt", sqrtl, 0.5001);
  sweep<double>("math.sqrt", sqrtl, 0.5001);
}
TEST(Math, Rsqrt) {
  sweep<float>("math.rsqrt", rsqrtl, 2);
  sweep<double>("math.rsqrt", rsqrtl, 2);
}

TEST(Math, UnsupportedFunctionIsAnError) {
  KernelRunner kernels(unary("math.erf", "f64", 4));
  EXPECT_FALSE(kernels.compiled());
  EXPECT_EQ(kernels.messages(), "'math.erf' op has no expansion into machine "
                                "instructions at type 'f64'; kernels contain "
                                "all of arith but remf, and of math: absf, "
                                "absi, ceil, copysign, ctlz, ctpop, cttz, erf "
                                "(f32, bf16), exp, expm1, floor, fma, log, "
                                "log1p, roundeven, rsqrt, sqrt, tanh, "
                                "trunc\n");
}

} // namespace
