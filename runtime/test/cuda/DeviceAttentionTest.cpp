//===- DeviceAttentionTest.cpp - Attention's kernels ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime's own kernels against its attention on a CPU, for sizes around
// those of tiles, groups of heads, and masks of which queries see no key.
//
//===----------------------------------------------------------------------===//

#include "DeviceLibraries.h"

#include "cpu/Attention.h"
#include "cpu/ThreadTeam.h"
#include "cuda/attention/Attention.h"
#include "cuda/platform/DeviceScratch.h"
#include "cuda/platform/Handles.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <optional>
#include <random>

namespace weft::runtime {
namespace {

using testing::HasSubstr;

const Cudart &cudart() {
  static const Result<Cudart> table = [] {
    const DeviceLibraries libraries;
    return loadCudart(CudaLibrarySearch::fromEnvironment());
  }();
  return *table;
}

/// With memory on the default stream.
const CudaContext &context() {
  static const CublasLt none;
  static const CudaContext bound{cudart(), none,       nullptr, 0,
                                 90,       "a device", nullptr};
  return bound;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

template <typename T> struct Traits {
  using Sum = T;
  static constexpr AttentionElement element =
      sizeof(T) == 4 ? AttentionElement::F32 : AttentionElement::F64;
  static constexpr double tolerance = sizeof(T) == 4 ? 3e-5 : 1e-12;
  static double load(T value) { return value; }
  static T store(double value) { return static_cast<T>(value); }
};
template <> struct Traits<BFloat16> {
  using Sum = float;
  static constexpr AttentionElement element = AttentionElement::BF16;
  /// Results are rounded once, from sums that differ in their last bits.
  static constexpr double tolerance = 8e-3;
  static double load(BFloat16 value) { return toFloat(value); }
  static BFloat16 store(double value) {
    return toBFloat16(static_cast<float>(value));
  }
};
template <> struct Traits<Float16> {
  using Sum = float;
  static constexpr AttentionElement element = AttentionElement::F16;
  static constexpr double tolerance = 1e-3;
  static double load(Float16 value) { return toFloat(value); }
  static Float16 store(double value) {
    return toFloat16(static_cast<float>(value));
  }
};

struct Case {
  AttentionSizes sizes;
  bool isCausal = false;
  std::optional<int32_t> diagonal = std::nullopt;
};

/// A tensor on both sides.
template <typename T> struct Mirror {
  Mirror(DeviceScratch &memory, size_t count, int seed = 0) : host(count) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (T &value : host)
      value = Traits<T>::store(seed ? normal(random) : 0);
    device = *memory.allocate(bytes());
    upload();
  }
  void upload() {
    EXPECT_EQ(
        cudart().memcpy(device, host.data(), bytes(), cudaMemcpyHostToDevice),
        cudaSuccess);
  }
  std::vector<T> download() const {
    std::vector<T> values(host.size());
    EXPECT_EQ(
        cudart().memcpy(values.data(), device, bytes(), cudaMemcpyDeviceToHost),
        cudaSuccess);
    return values;
  }
  size_t bytes() const { return host.size() * sizeof(T); }

  std::vector<T> host;
  void *device;
};

template <typename T> struct Tensors {
  using Sum = typename Traits<T>::Sum;

  explicit Tensors(const Case &c)
      : c(c), memory(context()), count(c.sizes.batch * c.sizes.queries *
                                       c.sizes.heads * c.sizes.headSize),
        keyCount(c.sizes.batch * c.sizes.keys * c.sizes.keyHeads *
                 c.sizes.headSize),
        rows(count / c.sizes.headSize), q(memory, count, 1),
        k(memory, keyCount, 2), v(memory, keyCount, 3), g(memory, count, 4),
        out(memory, count), dq(memory, count), dk(memory, keyCount),
        dv(memory, keyCount), logsumexp(memory, rows),
        ofLogsumexp(memory, rows, 5),
        diagonal(*memory.allocate(sizeof(int32_t))) {
    const int32_t value = c.diagonal.value_or(0);
    EXPECT_EQ(cudart().memcpy(diagonal, &value, sizeof(value),
                              cudaMemcpyHostToDevice),
              cudaSuccess);
  }

  AttentionArguments arguments(bool onDevice) {
    const auto at = [&](auto &mirror) -> void * {
      return onDevice ? mirror.device : mirror.host.data();
    };
    AttentionArguments a;
    a.element = Traits<T>::element;
    a.sizes = c.sizes;
    a.isCausal = c.isCausal;
    a.scale = 0.25;
    a.query = at(q), a.key = at(k), a.value = at(v);
    if (c.diagonal)
      a.diagonal =
          onDevice ? static_cast<const int32_t *>(diagonal) : &*c.diagonal;
    a.out = {at(out)};
    a.logsumexp = at(logsumexp);
    a.forwardOut = at(out);
    a.forwardLogsumexp = at(logsumexp);
    a.outCotangent = at(g);
    a.logsumexpCotangent = at(ofLogsumexp);
    a.queryCotangent = {at(dq)};
    a.keyCotangent = {at(dk)};
    a.valueCotangent = {at(dv)};
    return a;
  }

  const Case c;
  DeviceScratch memory;
  size_t count, keyCount, rows;
  Mirror<T> q, k, v, g, out, dq, dk, dv;
  Mirror<Sum> logsumexp, ofLogsumexp;
  void *diagonal;
};

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

void execute(BoundOperation &operation) {
  const size_t bytes = (operation.scratchpadBytes() + 127) / 64 * 64;
  const std::unique_ptr<void, decltype(&std::free)> memory(
      std::aligned_alloc(64, bytes), std::free);
  ASSERT_TRUE(operation.bindScratchpad(memory.get()).ok());
  ASSERT_TRUE(operation.run().ok());
}

void execute(Result<std::unique_ptr<CudaOperation>> operation) {
  ASSERT_TRUE(operation.ok()) << operation.status().message();
  DeviceScratch memory(context());
  (*operation)
      ->bindWorkspace(*memory.allocate((*operation)->workspaceBytes() + 1));
  const auto stream = createStream(cudart(), 0);
  ASSERT_TRUE(stream.ok());
  const Status status = (*operation)->enqueue(stream->get());
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(cudart().streamSynchronize(stream->get()), cudaSuccess);
}

/// In units of the largest expected number; equal infinities are near.
template <typename T>
void expectNear(const Mirror<T> &mirror, const char *what) {
  const std::vector<T> found = mirror.download();
  double largest = 1;
  for (const T value : mirror.host)
    if (std::isfinite(Traits<T>::load(value)))
      largest = std::max(largest, std::abs(Traits<T>::load(value)));
  for (size_t i = 0; i < found.size(); ++i) {
    const double expected = Traits<T>::load(mirror.host[i]);
    if (Traits<T>::load(found[i]) != expected) {
      ASSERT_NEAR(Traits<T>::load(found[i]) / largest, expected / largest,
                  Traits<T>::tolerance)
          << what << " " << i;
    }
  }
}

template <typename T> void expectSame(const Case &c) {
  const AttentionSizes &s = c.sizes;
  SCOPED_TRACE(fmt::format("{} {} {} {} {} {} causal {} diagonal {}", s.batch,
                           s.queries, s.keys, s.heads, s.keyHeads, s.headSize,
                           c.isCausal, c.diagonal.value_or(0)));
  Tensors<T> t(c);
  ThreadTeam team(1);
  execute(*bindAttention(t.arguments(false), team));
  execute(bindTiledAttention(t.arguments(true), cudart()));
  expectNear(t.out, "out");
  expectNear(t.logsumexp, "logsumexp");
  // The derivative starts from the same numbers.
  t.out.upload();
  t.logsumexp.upload();
  for (const bool hasLogsumexpCotangent : {true, false}) {
    AttentionArguments onHost = t.arguments(false),
                       onDevice = t.arguments(true);
    if (!hasLogsumexpCotangent)
      onHost.logsumexpCotangent = onDevice.logsumexpCotangent = nullptr;
    execute(*bindAttentionGrad(onHost, team));
    execute(bindTiledAttentionGrad(onDevice, cudart()));
    expectNear(t.dq, "cotangent of query");
    expectNear(t.dk, "cotangent of key");
    expectNear(t.dv, "cotangent of value");
  }
}

template <typename T> struct DeviceAttention : testing::Test {};
using Elements = testing::Types<float, BFloat16, Float16, double>;
TYPED_TEST_SUITE(DeviceAttention, Elements);

TYPED_TEST(DeviceAttention, IsThatOfTheCpu) {
  for (const Case &c : std::vector<Case>{{{1, 1, 1, 1, 1, 1}},
                                         {{2, 5, 7, 2, 1, 3}},
                                         {{1, 70, 65, 2, 2, 16}},
                                         {{1, 33, 40, 4, 2, 40}, true},
                                         {{1, 65, 65, 1, 1, 33}, true},
                                         {{1, 20, 50, 1, 1, 8}, true, 30},
                                         {{1, 40, 20, 2, 1, 8}, true, -10},
                                         {{1, 4, 4, 1, 1, 8}, true, -100}})
    expectSame<TypeParam>(c);
}

TYPED_TEST(DeviceAttention, HasKernelsForLargerHeads) {
  expectSame<TypeParam>({{1, 5, 6, 2, 1, 128}, true});
  expectSame<TypeParam>({{1, 3, 4, 1, 1, 200}, true});
}

TEST(DeviceAttentionBits, AreTheSameInEveryRun) {
  Tensors<float> t(Case{{1, 70, 70, 2, 1, 20}, true});
  std::vector<std::vector<float>> results[2];
  for (auto &each : results) {
    execute(bindTiledAttention(t.arguments(true), cudart()));
    execute(bindTiledAttentionGrad(t.arguments(true), cudart()));
    each = {t.out.download(), t.logsumexp.download(), t.dq.download(),
            t.dk.download(), t.dv.download()};
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(DeviceAttentionBits, ResultsOfTheTypeOfSumsAreNotRounded) {
  const Case c = {{1, 9, 9, 2, 1, 5}, true};
  Tensors<BFloat16> t(c);
  Mirror<float> out(t.memory, t.count), dk(t.memory, t.keyCount);
  AttentionArguments exact = t.arguments(true);
  exact.out = {out.device, true};
  exact.keyCotangent = {dk.device, true};
  // The derivative reads the rounded result.
  for (const AttentionArguments &a : {t.arguments(true), exact}) {
    execute(bindTiledAttention(a, cudart()));
    execute(bindTiledAttentionGrad(a, cudart()));
  }
  const auto rounded = t.out.download(), roundedKeys = t.dk.download();
  const auto sums = out.download(), keySums = dk.download();
  for (size_t i = 0; i < sums.size(); ++i)
    EXPECT_EQ(toBFloat16(sums[i]), rounded[i]);
  for (size_t i = 0; i < keySums.size(); ++i)
    EXPECT_EQ(toBFloat16(keySums[i]), roundedKeys[i]);
}

TEST(DeviceAttentionBits, NotANumberStaysOne) {
  Tensors<float> t(Case{{1, 3, 3, 1, 1, 2}, true});
  t.k.host[2] = NAN; // the second key, which the first query does not see
  t.k.upload();
  execute(bindTiledAttention(t.arguments(true), cudart()));
  EXPECT_TRUE(std::isfinite(t.out.download()[0]));
  EXPECT_TRUE(std::isnan(t.out.download()[2]));
  EXPECT_TRUE(std::isnan(t.logsumexp.download()[2]));
}

TEST(DeviceAttentionErrors, NameTheSizes) {
  Tensors<float> t(Case{{1, 2, 2, 1, 1, 4}});
  AttentionArguments a = t.arguments(true);
  a.sizes.headSize = 257;
  for (auto bind : {bindTiledAttention, bindTiledAttentionGrad})
    EXPECT_EQ(bind(a, cudart()).status().message(),
              "attention with head size 257; on a GPU it is at "
              "most 256");
  a.sizes = {1, int64_t(1) << 31, 2, 1, 1, 4};
  EXPECT_THAT(bindTiledAttention(a, cudart()).status().message(),
              HasSubstr("sizes on a GPU are at most 2147483647"));
  a.sizes = {1 << 20, 1 << 20, 2, 1, 1, 4};
  EXPECT_THAT(bindTiledAttention(a, cudart()).status().message(),
              HasSubstr("a grid has at most 2147483647"));
}

} // namespace
} // namespace weft::runtime
