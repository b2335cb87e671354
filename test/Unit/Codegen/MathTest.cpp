//===- MathTest.cpp - Errors of functions ---------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sweeps every function over its whole range of exponents and both signs and
// measures the error in units in the last place against long double. The bounds
// are those that docs/Numerics.md promises.

#include "KernelText.h"

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

std::string typeOf(int64_t n, const std::string &element) {
  return tensor({n}, element);
}

/// The function f of arguments of these types.
std::string kernelOf(const std::string &expression, const Names &types,
                     const std::string &result) {
  Names arguments;
  for (size_t i = 0; i < types.size(); ++i)
    arguments.push_back("%" + std::to_string(i));
  return function("f", types, {result},
                  mixed("%y", arguments, types, result, expression), {"%y"});
}

template <typename T> std::vector<T> specials() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x = {0,
                      0.5,
                      1,
                      1.5,
                      2,
                      3,
                      4,
                      std::nextafter(T(1), T(2)),
                      std::nextafter(T(1), T(0)),
                      Limits::infinity(),
                      Limits::quiet_NaN(),
                      Limits::max(),
                      Limits::min(),
                      Limits::denorm_min(),
                      T(87.5),
                      T(88.7228),
                      T(103.9),
                      T(709.78),
                      T(745.1),
                      T(131072),
                      T(0x1p31),
                      1 / Limits::epsilon(),
                      2 / Limits::epsilon() - 1,
                      2 / Limits::epsilon()};
  // Numbers next to multiples of pi / 2.
  for (long double k = 1; k < 1e7; k *= 1.7) {
    T near = T(std::floor(k) * (M_PIl / 2));
    for (T other : {T(0), Limits::max()})
      x.push_back(std::nextafter(near, other));
    x.push_back(near);
  }
  size_t size = x.size();
  for (size_t i = 0; i < size; ++i)
    x.push_back(-x[i]);
  return x;
}

template <typename T> T anyBits(std::mt19937_64 &random) {
  uint64_t bits = random();
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

/// Special values, numbers of every magnitude, and dense sweeps around zero.
template <typename T> std::vector<T> samples() {
  std::vector<T> x = specials<T>();
  std::mt19937_64 random(1);
  while (int64_t(x.size()) < count / 4)
    x.push_back(anyBits<T>(random));
  std::uniform_real_distribution<T> near(-1, 1);
  const T ranges[] = {1, 1.5, 12, 110, 800, 131072};
  while (int64_t(x.size()) < count)
    x.push_back(near(random) * ranges[x.size() % std::size(ranges)]);
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

/// Keeps the largest error and prints it.
template <typename T> class Worst {
public:
  void add(T got, long double exact, const std::string &arguments) {
    double error = errorOf<T>(got, exact);
    if (!(error <= worst)) {
      worst = error;
      at = arguments;
    }
  }
  void expectAtMost(double bound, const char *op) {
    EXPECT_LE(worst, bound) << op << " " << typeName<T>() << " at " << at;
    printf("%s %s: %.2f ulp at %s\n", op, typeName<T>(), worst, at.c_str());
  }

private:
  double worst = 0;
  std::string at = "any number";
};

template <typename T> std::string hex(T x) {
  char text[64];
  snprintf(text, sizeof text, "%a", double(x));
  return text;
}

//===----------------------------------------------------------------------===//
// Functions of one number
//===----------------------------------------------------------------------===//

struct Unary {
  const char *name;
  long double (*exact)(long double);
  double narrow, wide;
};
void PrintTo(const Unary &f, std::ostream *out) { *out << f.name; }

template <typename T> void sweep(const Unary &f, double bound) {
  std::vector<T> x = samples<T>(), y(x.size());
  std::string type = typeOf(x.size(), typeName<T>());
  KernelRunner kernels(kernelOf(
      std::string("math.") + f.name + " %a0 : " + typeName<T>(), {type}, type));
  ASSERT_TRUE(kernels.compiled()) << kernels.messages();
  kernels.run("f", {x.data(), y.data()});
  Worst<T> worst;
  for (size_t i = 0; i < x.size(); ++i)
    worst.add(y[i], f.exact(x[i]), hex(x[i]));
  worst.expectAtMost(bound, f.name);
}

class Math : public ::testing::TestWithParam<Unary> {};

TEST_P(Math, Narrow) { sweep<float>(GetParam(), GetParam().narrow); }
TEST_P(Math, Wide) { sweep<double>(GetParam(), GetParam().wide); }

long double reciprocalRoot(long double x) { return 1 / std::sqrt(x); }

INSTANTIATE_TEST_SUITE_P(
    Functions, Math,
    ::testing::Values(
        Unary{"acos", acosl, 2, 2}, Unary{"acosh", acoshl, 4, 4},
        Unary{"asin", asinl, 3, 3}, Unary{"asinh", asinhl, 4, 4},
        Unary{"atan", atanl, 3, 3}, Unary{"atanh", atanhl, 4, 4},
        Unary{"cbrt", cbrtl, 1, 1}, Unary{"ceil", ceill, 0, 0},
        Unary{"cos", cosl, 1, 1}, Unary{"cosh", coshl, 2, 2},
        Unary{"erf", erfl, 3, 2}, Unary{"erfc", erfcl, 4, 4},
        Unary{"exp", expl, 2, 2}, Unary{"exp2", exp2l, 2, 2},
        Unary{"expm1", expm1l, 3, 3}, Unary{"floor", floorl, 0, 0},
        Unary{"log", logl, 2, 2}, Unary{"log10", log10l, 2, 2},
        Unary{"log1p", log1pl, 3, 3}, Unary{"log2", log2l, 2, 2},
        Unary{"round", roundl, 0, 0}, Unary{"roundeven", roundevenl, 0, 0},
        Unary{"rsqrt", reciprocalRoot, 2, 2}, Unary{"sin", sinl, 1, 1},
        Unary{"sinh", sinhl, 3, 3}, Unary{"sqrt", sqrtl, 0.5001, 0.5001},
        Unary{"tan", tanl, 3, 3}, Unary{"tanh", tanhl, 3, 3},
        Unary{"trunc", truncl, 0, 0}),
    [](const auto &info) { return std::string(info.param.name); });

//===----------------------------------------------------------------------===//
// Functions of two numbers
//===----------------------------------------------------------------------===//

struct Binary {
  const char *name;
  long double (*exact)(long double, long double);
  double narrow, wide;
};
void PrintTo(const Binary &f, std::ostream *out) { *out << f.name; }

/// All pairs of special values, pairs of any bits, and pairs around zero.
template <typename T> void samplePairs(std::vector<T> &x, std::vector<T> &y) {
  for (T a : specials<T>())
    for (T b : specials<T>()) {
      x.push_back(a);
      y.push_back(b);
    }
  std::mt19937_64 random(2);
  std::uniform_real_distribution<T> near(-1, 1);
  for (int64_t i = 0; i < count; ++i) {
    T scale = i % 3 == 0 ? 1 : i % 3 == 1 ? 12 : 900;
    x.push_back(i % 4 == 0 ? anyBits<T>(random) : scale * near(random));
    y.push_back(i % 8 == 0   ? anyBits<T>(random)
                : i % 8 == 1 ? std::round(12 * near(random))
                             : 60 * near(random));
  }
}

template <typename T> void sweep(const Binary &f, double bound) {
  std::vector<T> x, y;
  samplePairs(x, y);
  std::vector<T> z(x.size());
  std::string type = typeOf(x.size(), typeName<T>());
  KernelRunner kernels(
      kernelOf(std::string(f.name) + " %a0, %a1 : " + typeName<T>(),
               {type, type}, type));
  ASSERT_TRUE(kernels.compiled()) << kernels.messages();
  kernels.run("f", {x.data(), y.data(), z.data()});
  Worst<T> worst;
  for (size_t i = 0; i < x.size(); ++i)
    worst.add(z[i], f.exact(x[i], y[i]), hex(x[i]) + ", " + hex(y[i]));
  worst.expectAtMost(bound, f.name);
}

class MathOfTwo : public ::testing::TestWithParam<Binary> {};

TEST_P(MathOfTwo, Narrow) { sweep<float>(GetParam(), GetParam().narrow); }
TEST_P(MathOfTwo, Wide) { sweep<double>(GetParam(), GetParam().wide); }

/// NaN if one is; -0 is less than +0.
long double maximum(long double x, long double y) {
  if (std::isnan(x) || std::isnan(y))
    return NAN;
  return x < y || (x == y && std::signbit(x)) ? y : x;
}
long double minimum(long double x, long double y) { return -maximum(-x, -y); }
/// The number of a number and a NaN.
long double maxnum(long double x, long double y) {
  return std::isnan(x) ? y : std::isnan(y) ? x : maximum(x, y);
}
long double minnum(long double x, long double y) { return -maxnum(-x, -y); }

INSTANTIATE_TEST_SUITE_P(
    Functions, MathOfTwo,
    ::testing::Values(Binary{"math.atan2", atan2l, 3, 3},
                      Binary{"math.copysign", copysignl, 0, 0},
                      Binary{"math.powf", powl, 1, 2},
                      Binary{"arith.remf", fmodl, 0, 0},
                      Binary{"arith.maximumf", maximum, 0, 0},
                      Binary{"arith.minimumf", minimum, 0, 0},
                      Binary{"arith.maxnumf", maxnum, 0, 0},
                      Binary{"arith.minnumf", minnum, 0, 0}),
    [](const auto &info) {
      return std::string(std::strchr(info.param.name, '.') + 1);
    });

/// powl itself takes -2^63 for odd.
long double integerPower(long double x, int64_t n) {
  long double power = powl(std::abs(x), n);
  return n & 1 && std::signbit(x) ? -power : power;
}

template <typename T, typename N> void sweepIntegerPower(double bound) {
  std::vector<T> x;
  std::vector<N> n;
  for (T a : specials<T>())
    for (N b : {N(0), N(1), N(-1), N(2), N(-2), N(3), N(-3), N(31), N(-100),
                std::numeric_limits<N>::max(), std::numeric_limits<N>::min()}) {
      x.push_back(a);
      n.push_back(b);
    }
  std::vector<T> y(x.size());
  std::string type = typeOf(x.size(), typeName<T>());
  std::string integer = "i" + std::to_string(8 * sizeof(N));
  KernelRunner kernels(kernelOf(std::string("math.fpowi %a0, %a1 : ") +
                                    typeName<T>() + ", " + integer,
                                {type, typeOf(x.size(), integer)}, type));
  ASSERT_TRUE(kernels.compiled()) << kernels.messages();
  kernels.run("f", {x.data(), n.data(), y.data()});
  Worst<T> worst;
  for (size_t i = 0; i < x.size(); ++i)
    worst.add(y[i], integerPower(x[i], n[i]),
              hex(x[i]) + ", " + std::to_string(int64_t(n[i])));
  worst.expectAtMost(bound, "fpowi");
}

TEST(MathOfIntegers, PowerOfFloat) {
  sweepIntegerPower<float, int8_t>(1);
  sweepIntegerPower<float, int32_t>(1);
  sweepIntegerPower<float, int64_t>(1);
  sweepIntegerPower<double, int32_t>(2);
  sweepIntegerPower<double, int64_t>(2);
}

//===----------------------------------------------------------------------===//
// Classes of numbers, and functions of three
//===----------------------------------------------------------------------===//

template <typename T> void expectClasses() {
  std::vector<T> x = samples<T>();
  std::string type = typeOf(x.size(), typeName<T>());
  std::string flags = typeOf(x.size(), "i1");
  const std::pair<const char *, bool (*)(T)> classes[] = {
      {"isfinite", [](T v) { return std::isfinite(v); }},
      {"isinf", [](T v) { return std::isinf(v); }},
      {"isnan", [](T v) { return std::isnan(v); }},
      {"isnormal", [](T v) { return std::isnormal(v); }}};
  for (auto [name, exact] : classes) {
    KernelRunner kernels(
        kernelOf(std::string("math.") + name + " %a0 : " + typeName<T>(),
                 {type}, flags));
    ASSERT_TRUE(kernels.compiled()) << kernels.messages();
    std::vector<uint8_t> y(x.size(), 7);
    kernels.run("f", {x.data(), y.data()});
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(y[i], exact(x[i])) << name << " of " << hex(x[i]);
  }
}

TEST(MathOfOne, Classes) {
  expectClasses<float>();
  expectClasses<double>();
}

TEST(MathOfOne, Clamp) {
  std::vector<float> x = samples<float>(), y(x.size());
  std::string type = typeOf(x.size(), "f32");
  KernelRunner kernels(
      function("f", {type}, {type},
               splat("%low", "-2.0", type) + splat("%high", "3.0", type) +
                   mixed("%y", {"%0", "%low", "%high"}, {type, type, type},
                         type, "math.clampf %a0 to [%a1, %a2] : f32"),
               {"%y"}));
  kernels.run("f", {x.data(), y.data()});
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(errorOf<float>(y[i], minimum(maximum(x[i], -2), 3)), 0) << x[i];
}

/// A function of every number of 16 bits, computed in f32 and rounded once;
/// `unit`: half a unit in the last place of 1, and a little more.
void expectSines(const std::string &element, float (*value)(uint16_t),
                 float unit, float smallest) {
  std::vector<uint16_t> x(1 << 16), y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = i;
  std::string halves = typeOf(x.size(), element);
  KernelRunner kernels(kernelOf("math.sin %a0 : " + element, {halves}, halves));
  kernels.run("f", {x.data(), y.data()});
  for (size_t i = 0; i < x.size(); ++i) {
    float want = std::sin(value(x[i])), got = value(y[i]);
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(got)) << i;
    else
      EXPECT_NEAR(got, want, std::max(std::abs(want) * unit, smallest))
          << value(x[i]);
  }
}

TEST(MathOfOne, Bf16) { expectSines("bf16", fromBf16, 0x1.01p-8f, 0); }
TEST(MathOfOne, F16) { expectSines("f16", fromHalf, 0x1.01p-11f, 0x1.01p-25f); }

/// One element only, and so no vectors: the same bits.
TEST(MathOfOne, ScalarsAreAsLanes) {
  for (const char *op : {"math.sin", "math.tan", "math.erfc", "math.cbrt"}) {
    std::vector<float> x = {1e30f, -3e5f, 0.75f, -12.5f}, lanes(4);
    x.resize(16, 2e7f);
    lanes.resize(16);
    std::string type = typeOf(16, "f32"), one = typeOf(1, "f32");
    std::string expression = std::string(op) + " %a0 : f32";
    KernelRunner(kernelOf(expression, {type}, type))
        .run("f", {x.data(), lanes.data()});
    KernelRunner single(kernelOf(expression, {one}, one));
    for (int i = 0; i < 16; ++i) {
      float y = 0;
      single.run("f", {&x[i], &y});
      EXPECT_EQ(std::memcmp(&y, &lanes[i], 4), 0) << op << " of " << x[i];
    }
  }
}

/// What the compiler says of a kernel of one argument.
std::string messagesOf(const std::string &expression, const std::string &given,
                       const std::string &result) {
  KernelRunner kernels(
      kernelOf(expression, {typeOf(4, given)}, typeOf(4, result)));
  EXPECT_FALSE(kernels.compiled());
  return kernels.messages();
}

TEST(MathErrors, UnsupportedOperations) {
  EXPECT_EQ(messagesOf("arith.truncf %a0 upward : f64 to f32", "f64", "f32"),
            "'arith.truncf' op rounds upward, but kernels round "
            "to_nearest_even only\n");
  EXPECT_EQ(
      messagesOf("arith.scaling_extf %a0, %a0 : f32, f32 to f64", "f32", "f64"),
      "'arith.scaling_extf' op has no machine instructions; kernels "
      "contain all other ops of arith and math\n");
}

/// Both results have the bits of the ops that compute one.
TEST(MathOfOne, SineAndCosineTogether) {
  for (const char *element : {"f32", "f64", "bf16", "f16"}) {
    std::string type = typeOf(256, element), value = element;
    std::string results = "(" + type + ", " + type + ")";
    auto loop = [&](const std::string &body, const std::string &yielded,
                    int count) {
      std::string maps = "#v", inits = "%e", types = type, arguments;
      for (int i = 0; i < count; ++i) {
        maps += ", #v";
        arguments += ", %o" + std::to_string(i) + ": " + value;
      }
      if (count == 2) {
        inits = "%e, %e";
        types = type + ", " + type;
      }
      std::string values = count == 2 ? value + ", " + value : value;
      return " = linalg.generic {indexing_maps = [" + maps +
             "], iterator_types = [\"parallel\"]} ins(%0 : " + type +
             ") outs(" + inits + " : " + types + ") {\n^bb0(%a: " + value +
             arguments + "):\n" + body + " %a : " + value + "\nlinalg.yield " +
             yielded + " : " + values + "\n} -> " +
             (count == 2 ? results : type) + "\n";
    };
    std::string empty = "%e = tensor.empty() : " + type + "\n";
    KernelRunner together(
        function("f", {type}, {type, type},
                 empty + "%r:2" + loop("%s, %c = math.sincos", "%s, %c", 2),
                 {"%r#0", "%r#1"}));
    KernelRunner apart(function("f", {type}, {type, type},
                                empty + "%s" + loop("%v = math.sin", "%v", 1) +
                                    "%c" + loop("%v = math.cos", "%v", 1),
                                {"%s", "%c"}));
    ASSERT_TRUE(together.compiled()) << together.messages();
    ASSERT_TRUE(apart.compiled()) << apart.messages();
    std::mt19937_64 random(3);
    std::vector<uint64_t> x(256);
    for (uint64_t &bits : x)
      bits = random();
    std::vector<uint64_t> got[4] = {x, x, x, x};
    together.run("f", {x.data(), got[0].data(), got[1].data()});
    apart.run("f", {x.data(), got[2].data(), got[3].data()});
    EXPECT_EQ(got[0], got[2]) << element;
    EXPECT_EQ(got[1], got[3]) << element;
  }
}

} // namespace
