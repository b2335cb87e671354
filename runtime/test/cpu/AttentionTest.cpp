//===- AttentionTest.cpp - Attention on a CPU -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels for every set of registers that this machine has, against the
// definition written down in loops.
//
//===----------------------------------------------------------------------===//

#include "cpu/Attention.h"
#include "cpu/CpuFeatures.h"
#include "cpu/ThreadTeam.h"
#include "weft/runtime/DType.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <random>

namespace weft::runtime {
namespace {

struct Case {
  AttentionSizes sizes;
  bool isCausal = false;
  std::optional<int32_t> diagonal = std::nullopt;
};

std::string nameOf(const Case &c) {
  const AttentionSizes &s = c.sizes;
  std::string text;
  for (int64_t size :
       {s.batch, s.queries, s.keys, s.heads, s.keyHeads, s.headSize})
    text += std::to_string(size) + "_";
  text += c.isCausal ? "causal" : "all";
  if (c.diagonal)
    text += (*c.diagonal < 0 ? "_minus" : "_plus") +
            std::to_string(std::abs(*c.diagonal));
  return text;
}

/// Sizes around those of blocks and vectors, groups of heads, masks of which
/// queries see no key.
std::vector<Case> cases() {
  return {
      {{1, 1, 1, 1, 1, 1}},
      {{2, 5, 7, 2, 1, 3}},
      {{1, 64, 128, 1, 1, 16}},
      {{1, 65, 129, 1, 1, 17}},
      {{2, 33, 200, 4, 2, 8}},
      {{1, 1, 300, 6, 2, 20}},
      {{1, 130, 3, 3, 3, 5}},
      {{1, 1, 1, 1, 1, 1}, true},
      {{2, 70, 70, 4, 2, 16}, true},
      {{1, 200, 200, 2, 1, 64}, true},
      {{1, 10, 300, 2, 2, 7}, true},
      {{1, 300, 10, 2, 2, 7}, true},
      {{1, 70, 200, 2, 1, 9}, true, 130},
      {{1, 70, 200, 2, 1, 9}, true, 1000},
      {{1, 200, 200, 2, 1, 9}, true, -30},
      {{1, 64, 64, 2, 1, 9}, true, -64},
      {{1, 20, 20, 2, 1, 9}, true, -1000},
  };
}

std::vector<std::pair<std::string, const AttentionKernels *>> allKernels() {
  std::vector<std::pair<std::string, const AttentionKernels *>> list = {
      {"baseline", &baselineAttentionKernels}};
#if defined(__x86_64__)
  if (supportOf("avx2") == FeatureSupport::Present &&
      supportOf("fma") == FeatureSupport::Present)
    list.emplace_back("avx2", &avx2AttentionKernels);
  if (&attentionKernelsHere() == &avx512AttentionKernels)
    list.emplace_back("avx512", &avx512AttentionKernels);
#endif
  return list;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

template <typename T> struct Traits;
template <> struct Traits<float> {
  using Sum = float;
  static constexpr AttentionElement element = AttentionElement::F32;
  static constexpr double tolerance = 3e-6;
  static double load(float value) { return value; }
  static float store(double value) { return static_cast<float>(value); }
};
template <> struct Traits<double> {
  using Sum = double;
  static constexpr AttentionElement element = AttentionElement::F64;
  static constexpr double tolerance = 3e-14;
  static double load(double value) { return value; }
  static double store(double value) { return value; }
};
template <> struct Traits<BFloat16> {
  using Sum = float;
  static constexpr AttentionElement element = AttentionElement::BF16;
  /// A result is rounded once.
  static constexpr double tolerance = 5e-3;
  static double load(BFloat16 value) { return toFloat(value); }
  static BFloat16 store(double value) {
    return toBFloat16(static_cast<float>(value));
  }
};
template <> struct Traits<Float16> {
  using Sum = float;
  static constexpr AttentionElement element = AttentionElement::F16;
  static constexpr double tolerance = 6e-4;
  static double load(Float16 value) { return toFloat(value); }
  static Float16 store(double value) {
    return toFloat16(static_cast<float>(value));
  }
};

template <typename T> std::vector<T> randomNumbers(size_t count, int seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(count);
  for (T &value : values)
    value = Traits<T>::store(normal(random));
  return values;
}

template <typename T> std::vector<double> toDoubles(const std::vector<T> &x) {
  std::vector<double> values;
  for (T value : x)
    values.push_back(Traits<T>::load(value));
  return values;
}

using Numbers = std::vector<double>;

/// Distance in units of the largest expected number; equal infinities have
/// none.
double distance(const Numbers &found, const Numbers &expected) {
  double largest = 1, worst = 0;
  for (double value : expected)
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i] != expected[i])
      worst =
          std::max(worst, std::isfinite(found[i]) && std::isfinite(expected[i])
                              ? std::abs(found[i] - expected[i])
                              : HUGE_VAL);
  return worst / largest;
}

//===----------------------------------------------------------------------===//
// The definition
//===----------------------------------------------------------------------===//

struct Definition {
  Definition(const Case &c, double scale, Numbers q, Numbers k, Numbers v)
      : c(c), s(c.sizes), scale(scale), q(std::move(q)), k(std::move(k)),
        v(std::move(v)) {}

  size_t query(int64_t b, int64_t i, int64_t h) const {
    return ((b * s.queries + i) * s.heads + h) * s.headSize;
  }
  size_t key(int64_t b, int64_t j, int64_t h) const {
    return ((b * s.keys + j) * s.keyHeads + h / (s.heads / s.keyHeads)) *
           s.headSize;
  }
  bool sees(int64_t i, int64_t j) const {
    return !c.isCausal || j <= i + c.diagonal.value_or(0);
  }
  double dot(const Numbers &x, size_t at, const Numbers &y, size_t and_) const {
    double sum = 0;
    for (int64_t d = 0; d < s.headSize; ++d)
      sum += x[at + d] * y[and_ + d];
    return sum;
  }
  /// Calls `visit` with (batch, query, head).
  template <typename Visit> void forRows(Visit visit) const {
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t i = 0; i < s.queries; ++i)
        for (int64_t h = 0; h < s.heads; ++h)
          visit(b, i, h);
  }

  void forward() {
    out.assign(q.size(), 0);
    logsumexp.assign(q.size() / s.headSize, -HUGE_VAL);
    forRows([&](int64_t b, int64_t i, int64_t h) {
      const size_t at = query(b, i, h);
      double sum = 0;
      for (int64_t j = 0; j < s.keys; ++j)
        if (sees(i, j)) {
          const double p = std::exp(scale * dot(q, at, k, key(b, j, h)));
          sum += p;
          for (int64_t d = 0; d < s.headSize; ++d)
            out[at + d] += p * v[key(b, j, h) + d];
        }
      for (int64_t d = 0; d < s.headSize && sum != 0; ++d)
        out[at + d] /= sum;
      logsumexp[at / s.headSize] = std::log(sum);
    });
  }

  /// From the cotangents of both results.
  void backward(const Numbers &g, const Numbers &ofLogsumexp) {
    dq.assign(q.size(), 0), dk.assign(k.size(), 0), dv.assign(v.size(), 0);
    forRows([&](int64_t b, int64_t i, int64_t h) {
      const size_t at = query(b, i, h), row = at / s.headSize;
      const double delta = dot(out, at, g, at) - ofLogsumexp[row];
      for (int64_t j = 0; j < s.keys; ++j)
        if (sees(i, j)) {
          const size_t other = key(b, j, h);
          const double p =
              std::exp(scale * dot(q, at, k, other) - logsumexp[row]);
          const double ds = scale * p * (dot(g, at, v, other) - delta);
          for (int64_t d = 0; d < s.headSize; ++d) {
            dq[at + d] += ds * k[other + d];
            dk[other + d] += ds * q[at + d];
            dv[other + d] += p * g[at + d];
          }
        }
    });
  }

  const Case &c;
  const AttentionSizes &s;
  const double scale;
  Numbers q, k, v, out, logsumexp, dq, dk, dv;
};

//===----------------------------------------------------------------------===//
// The kernels
//===----------------------------------------------------------------------===//

/// 64-byte aligned working memory, of numbers that are none.
struct Scratchpad {
  explicit Scratchpad(size_t bytes)
      : memory(std::aligned_alloc(64, bytes + 64)) {
    std::memset(memory, 0xff, bytes);
  }
  ~Scratchpad() { std::free(memory); }
  void *memory;
};

void execute(BoundOperation &operation) {
  const Scratchpad scratchpad(operation.scratchpadBytes());
  ASSERT_TRUE(operation.bindScratchpad(scratchpad.memory).ok());
  ASSERT_TRUE(operation.run().ok());
}

template <typename T> struct Tensors {
  using Sum = typename Traits<T>::Sum;

  explicit Tensors(const Case &c)
      : c(c), count(c.sizes.batch * c.sizes.queries * c.sizes.heads *
                    c.sizes.headSize),
        keyCount(c.sizes.batch * c.sizes.keys * c.sizes.keyHeads *
                 c.sizes.headSize),
        rows(count / c.sizes.headSize), q(randomNumbers<T>(count, 1)),
        k(randomNumbers<T>(keyCount, 2)), v(randomNumbers<T>(keyCount, 3)),
        g(randomNumbers<T>(count, 4)), out(count), dq(count), dk(keyCount),
        dv(keyCount), logsumexp(rows),
        ofLogsumexp(randomNumbers<Sum>(rows, 5)) {}

  AttentionArguments arguments() {
    AttentionArguments a;
    a.element = Traits<T>::element;
    a.sizes = c.sizes;
    a.isCausal = c.isCausal;
    a.scale = scale;
    a.query = q.data(), a.key = k.data(), a.value = v.data();
    a.diagonal = c.diagonal ? &*c.diagonal : nullptr;
    a.out = {out.data()};
    a.logsumexp = logsumexp.data();
    a.forwardOut = out.data();
    a.forwardLogsumexp = logsumexp.data();
    a.outCotangent = g.data();
    a.logsumexpCotangent = ofLogsumexp.data();
    a.queryCotangent = {dq.data()};
    a.keyCotangent = {dk.data()};
    a.valueCotangent = {dv.data()};
    return a;
  }
  Definition definition() const {
    return {c, scale, toDoubles(q), toDoubles(k), toDoubles(v)};
  }

  const Case &c;
  static constexpr double scale = 0.25;
  size_t count, keyCount, rows;
  std::vector<T> q, k, v, g, out, dq, dk, dv;
  std::vector<Sum> logsumexp, ofLogsumexp;
};

template <typename T> struct Attention : testing::Test {};
using Elements = testing::Types<float, BFloat16, Float16, double>;
TYPED_TEST_SUITE(Attention, Elements);

TYPED_TEST(Attention, IsThatOfTheDefinition) {
  ThreadTeam team(2);
  for (const Case &c : cases())
    for (auto [name, kernels] : allKernels()) {
      SCOPED_TRACE(nameOf(c) + " " + name);
      Tensors<TypeParam> t(c);
      execute(*bindAttention(t.arguments(), team, *kernels));
      Definition expected = t.definition();
      expected.forward();
      EXPECT_LE(distance(toDoubles(t.out), expected.out),
                Traits<TypeParam>::tolerance);
      EXPECT_LE(distance(toDoubles(t.logsumexp), expected.logsumexp),
                Traits<typename Tensors<TypeParam>::Sum>::tolerance);
    }
}

TYPED_TEST(Attention, GradIsThatOfTheDefinition) {
  using Sum = typename Tensors<TypeParam>::Sum;
  ThreadTeam team(2);
  for (const Case &c : cases())
    for (auto [name, kernels] : allKernels())
      for (GradPasses passes : {GradPasses::One, GradPasses::Two}) {
        SCOPED_TRACE(nameOf(c) + " " + name +
                     (passes == GradPasses::One ? " one" : " two"));
        Tensors<TypeParam> t(c);
        Definition expected = t.definition();
        expected.forward();
        // The derivative is that of these numbers.
        for (size_t i = 0; i < t.count; ++i) {
          t.out[i] = Traits<TypeParam>::store(expected.out[i]);
          expected.out[i] = Traits<TypeParam>::load(t.out[i]);
        }
        for (size_t i = 0; i < t.rows; ++i)
          t.logsumexp[i] = Traits<Sum>::store(expected.logsumexp[i]);
        const double tolerance = Traits<TypeParam>::tolerance;
        for (bool hasLogsumexpCotangent : {true, false}) {
          AttentionArguments a = t.arguments();
          Numbers ofLogsumexp = toDoubles(t.ofLogsumexp);
          if (!hasLogsumexpCotangent) {
            a.logsumexpCotangent = nullptr;
            ofLogsumexp.assign(t.rows, 0);
          }
          expected.backward(toDoubles(t.g), ofLogsumexp);
          execute(*bindAttentionGrad(a, team, *kernels, passes));
          EXPECT_LE(distance(toDoubles(t.dq), expected.dq), tolerance);
          EXPECT_LE(distance(toDoubles(t.dk), expected.dk), tolerance);
          EXPECT_LE(distance(toDoubles(t.dv), expected.dv), tolerance);
        }
      }
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

const Case wide = {{2, 300, 300, 4, 2, 24}, true};

std::vector<std::vector<float>> bitsOf(int threads, GradPasses passes) {
  ThreadTeam team(threads);
  Tensors<float> t(wide);
  execute(*bindAttention(t.arguments(), team));
  execute(
      *bindAttentionGrad(t.arguments(), team, attentionKernelsHere(), passes));
  return {t.out, t.logsumexp, t.dq, t.dk, t.dv};
}

TEST(AttentionBits, DependNeitherOnThreadsNorOnPasses) {
  const auto expected = bitsOf(1, GradPasses::One);
  EXPECT_EQ(bitsOf(1, GradPasses::Two), expected);
  EXPECT_EQ(bitsOf(3, GradPasses::One), expected);
  EXPECT_EQ(bitsOf(3, GradPasses::Two), expected);
}

TEST(AttentionBits, ResultsOfTheTypeOfSumsAreNotRounded) {
  const Case c = {{1, 9, 9, 2, 1, 5}, true};
  Tensors<BFloat16> rounded(c), exact(c);
  std::vector<float> out(exact.count), dk(exact.keyCount);
  AttentionArguments arguments = exact.arguments();
  arguments.out = {out.data(), true};
  arguments.forwardOut = rounded.out.data();
  arguments.keyCotangent = {dk.data(), true};
  ThreadTeam team(1);
  for (const AttentionArguments &a : {rounded.arguments(), arguments}) {
    execute(*bindAttention(a, team));
    execute(*bindAttentionGrad(a, team));
  }
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(toBFloat16(out[i]), rounded.out[i]);
  for (size_t i = 0; i < dk.size(); ++i)
    EXPECT_EQ(toBFloat16(dk[i]), rounded.dk[i]);
}

TEST(AttentionBits, NotANumberStaysOne) {
  const Case c = {{1, 3, 3, 1, 1, 2}, true};
  Tensors<float> t(c);
  t.k[2] = NAN; // the second key, which the first query does not see
  ThreadTeam team(1);
  execute(*bindAttention(t.arguments(), team));
  EXPECT_TRUE(std::isfinite(t.out[0]));
  EXPECT_TRUE(std::isnan(t.out[2]));
  EXPECT_TRUE(std::isnan(t.logsumexp[2]));
}

} // namespace
} // namespace weft::runtime
