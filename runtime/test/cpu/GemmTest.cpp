//===- GemmTest.cpp - GEMMs on a CPU ----------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/Gemm.h"
#include "cpu/PackedTile.h"
#include "cpu/ThreadTeam.h"

#include "PlanBuilder.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

namespace weft::runtime {
namespace {

/// Small integers, so that every order of summation gives the same bits.
template <typename T> T fromInteger(int value) { return static_cast<T>(value); }
template <> BFloat16 fromInteger(int value) {
  return toBFloat16(static_cast<float>(value));
}
template <> Float16 fromInteger(int value) {
  return toFloat16(static_cast<float>(value));
}
template <typename T> double toDouble(T value) {
  return static_cast<double>(value);
}
template <> double toDouble(BFloat16 value) { return toFloat(value); }
template <> double toDouble(Float16 value) { return toFloat(value); }

template <typename T> std::vector<T> randomIntegers(size_t size, int seed) {
  std::mt19937 random(seed);
  std::vector<T> values(size);
  for (T &value : values)
    value = fromInteger<T>(static_cast<int>(random() % 5) - 2);
  return values;
}

/// 64-byte aligned working memory.
struct Scratchpad {
  explicit Scratchpad(size_t bytes)
      : memory(std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64)) {}
  ~Scratchpad() { std::free(memory); }
  void *memory;
};

Status execute(BoundGemm &gemm) {
  const Scratchpad scratchpad(gemm.scratchpadBytes());
  WEFT_RETURN_IF_ERROR(gemm.bindScratchpad(scratchpad.memory));
  return gemm.run();
}

int64_t reach(const MatrixStrides &s, int64_t batch, int64_t rows,
              int64_t columns) {
  return (batch - 1) * s.batch + (rows - 1) * s.row + (columns - 1) * s.column +
         1;
}

enum class Implementation { Reference, OneDnn, Packed };

/// Runs a GEMM of random integers and compares with three nested loops.
template <typename In, typename Out>
void check(const GemmProblem &p, Implementation implementation) {
  const auto lhs = randomIntegers<In>(reach(p.lhs, p.batch, p.m, p.k), 1);
  const auto rhs = randomIntegers<In>(reach(p.rhs, p.batch, p.k, p.n), 2);
  auto out = randomIntegers<Out>(reach(p.result, p.batch, p.m, p.n), 3);
  std::vector<double> expected;
  for (const Out &value : out)
    expected.push_back(toDouble(value));
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        double &element = expected[b * p.result.batch + i * p.result.row +
                                   j * p.result.column];
        double sum = p.accumulate ? element : 0;
        for (int64_t k = 0; k < p.k; ++k)
          sum +=
              toDouble(
                  lhs[b * p.lhs.batch + i * p.lhs.row + k * p.lhs.column]) *
              toDouble(rhs[b * p.rhs.batch + k * p.rhs.row + j * p.rhs.column]);
        element = sum;
      }
  const OneDnnThreads threads(1);
  const GemmOperands operands{lhs.data(), rhs.data(), out.data()};
  ThreadTeam team(2);
  std::unique_ptr<BoundGemm> gemm;
  if (implementation == Implementation::Reference) {
    auto reference = bindReferenceGemm(p, operands);
    ASSERT_TRUE(reference.ok()) << reference.status().message();
    gemm = *std::move(reference);
  } else if (implementation == Implementation::OneDnn) {
    gemm = bindOneDnnGemm(p, operands);
    if (!gemm)
      GTEST_SKIP() << "oneDNN has no fast GEMM of this kind here";
  } else {
    gemm = bindPackedGemm(p, operands, team);
    if (!gemm)
      GTEST_SKIP() << "this processor has no AVX2";
  }
  ASSERT_TRUE(execute(*gemm).ok());
  for (size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(toDouble(out[i]), expected[i]) << "element " << i;
}

struct Case {
  const char *name;
  GemmProblem problem;
};

/// Row-major GEMMs of this size.
GemmProblem plain(int64_t batch, int64_t m, int64_t n, int64_t k) {
  GemmProblem p;
  p.batch = batch, p.m = m, p.n = n, p.k = k;
  p.lhs = {m * k, k, 1};
  p.rhs = {k * n, n, 1};
  p.result = {m * n, n, 1};
  return p;
}

std::vector<Case> cases() {
  std::vector<Case> list = {
      {"square", plain(1, 8, 8, 8)},  {"odd", plain(1, 5, 67, 13)},
      {"one", plain(1, 1, 1, 1)},     {"row", plain(1, 1, 33, 7)},
      {"column", plain(1, 33, 1, 7)}, {"outer", plain(1, 9, 6, 1)},
      {"batched", plain(3, 4, 5, 6)}, {"larger", plain(2, 64, 96, 80)}};
  GemmProblem p = plain(1, 6, 7, 5);
  p.lhs = {0, 1, 6};
  list.push_back({"lhsTransposed", p});
  p = plain(2, 6, 7, 5);
  p.rhs = {35, 1, 5};
  list.push_back({"rhsTransposed", p});
  p = plain(1, 6, 7, 5);
  p.lhs = {0, 1, 6}, p.rhs = {0, 1, 5};
  list.push_back({"bothTransposed", p});
  p = plain(1, 6, 7, 5);
  p.result = {0, 1, 6};
  list.push_back({"outTransposed", p});
  p = plain(1, 6, 7, 5);
  p.lhs = {0, 9, 1}, p.rhs = {0, 11, 1}, p.result = {0, 13, 1};
  list.push_back({"padded", p});
  // Heads of attention: batch between the matrix dimensions in memory.
  p = plain(3, 4, 5, 6);
  p.lhs = {6, 18, 1}, p.rhs = {6, 1, 18}, p.result = {20, 5, 1};
  list.push_back({"heads", p});
  p = plain(3, 4, 5, 6);
  p.rhs.batch = 0;
  list.push_back({"sharedRhs", p});
  p = plain(3, 4, 5, 6);
  p.lhs.batch = 0;
  list.push_back({"sharedLhs", p});
  p = plain(1, 4, 5, 1);
  p.lhs = {0, 8, 8}, p.rhs = {0, 7, 1};
  list.push_back({"columnOfMatrix", p});
  p = plain(1, 1, 5, 6);
  p.lhs = {0, 1, 4}, p.result = {0, 3, 1};
  list.push_back({"stridedVector", p});
  // Several tiles, panels and blocks of sums, none of them whole.
  list.push_back({"tiles", plain(1, 251, 165, 517)});
  list.push_back({"wide", plain(1, 13, 1093, 5)});
  p = plain(1, 251, 165, 517);
  p.lhs = {0, 1, 251}, p.rhs = {0, 1, 517};
  list.push_back({"tilesTransposed", p});
  const size_t count = list.size();
  for (size_t i = 0; i < count; ++i) {
    list.push_back(list[i]);
    list.back().problem.accumulate = true;
  }
  return list;
}

struct GemmTest : testing::TestWithParam<Case> {
  template <typename In, typename Out>
  void run(DType in, DType out, Implementation implementation) {
    GemmProblem problem = GetParam().problem;
    problem.in = in;
    problem.out = out;
    check<In, Out>(problem, implementation);
  }
};

TEST_P(GemmTest, ReferenceF32) {
  run<float, float>(DType::F32, DType::F32, Implementation::Reference);
}
TEST_P(GemmTest, ReferenceF64) {
  run<double, double>(DType::F64, DType::F64, Implementation::Reference);
}
TEST_P(GemmTest, ReferenceI32) {
  run<int32_t, int32_t>(DType::I32, DType::I32, Implementation::Reference);
}
TEST_P(GemmTest, ReferenceI64) {
  run<int64_t, int64_t>(DType::I64, DType::I64, Implementation::Reference);
}
TEST_P(GemmTest, ReferenceBF16) {
  run<BFloat16, BFloat16>(DType::BF16, DType::BF16, Implementation::Reference);
}
TEST_P(GemmTest, ReferenceBF16ToF32) {
  run<BFloat16, float>(DType::BF16, DType::F32, Implementation::Reference);
}
TEST_P(GemmTest, ReferenceF16) {
  run<Float16, Float16>(DType::F16, DType::F16, Implementation::Reference);
}
TEST_P(GemmTest, ReferenceF16ToF32) {
  run<Float16, float>(DType::F16, DType::F32, Implementation::Reference);
}
TEST_P(GemmTest, OneDnnF32) {
  run<float, float>(DType::F32, DType::F32, Implementation::OneDnn);
}
TEST_P(GemmTest, PackedF32) {
  run<float, float>(DType::F32, DType::F32, Implementation::Packed);
}
TEST_P(GemmTest, OneDnnBF16) {
  run<BFloat16, BFloat16>(DType::BF16, DType::BF16, Implementation::OneDnn);
}
TEST_P(GemmTest, OneDnnBF16ToF32) {
  run<BFloat16, float>(DType::BF16, DType::F32, Implementation::OneDnn);
}

INSTANTIATE_TEST_SUITE_P(Layouts, GemmTest, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case> &info) {
                           return std::string(info.param.name) +
                                  (info.param.problem.accumulate ? "Accumulate"
                                                                 : "");
                         });

TEST(Gemm, SixteenBitSumsAreRoundedOnce) {
  ThreadTeam team(1);
  // 256 + 256 times 1: a bf16 sum would stop at 256.
  std::vector<BFloat16> ones(256, toBFloat16(1));
  BFloat16 out = toBFloat16(256);
  GemmProblem p = plain(1, 1, 1, 256);
  p.in = p.out = DType::BF16;
  p.accumulate = true;
  auto gemm = bindGemm(p, {ones.data(), ones.data(), &out}, team);
  ASSERT_TRUE(gemm.ok());
  ASSERT_TRUE(execute(**gemm).ok());
  EXPECT_EQ(toFloat(out), 512);
}

/// The bits of a packed GEMM with so many threads.
static std::vector<float> packedProduct(TileFunction compute, int threads) {
  GemmProblem p = plain(1, 301, 700, 600);
  std::mt19937 random(7);
  std::vector<float> lhs(p.m * p.k), rhs(p.k * p.n), out(p.m * p.n);
  for (auto *values : {&lhs, &rhs})
    for (float &value : *values)
      value = std::normal_distribution<float>()(random);
  const Scratchpad scratchpad(threads * tileScratchpadBytes);
  if (compute) {
    compute({lhs.data(),
             rhs.data(),
             out.data(),
             p.m,
             p.n,
             p.k,
             {p.k, 1},
             {p.n, 1},
             {p.n, 1},
             false},
            static_cast<std::byte *>(scratchpad.memory));
    return out;
  }
  ThreadTeam team(threads);
  const auto gemm =
      bindPackedGemm(p, {lhs.data(), rhs.data(), out.data()}, team);
  EXPECT_TRUE(gemm->bindScratchpad(scratchpad.memory).ok());
  EXPECT_TRUE(gemm->run().ok());
  return out;
}

TEST(Gemm, PackedBitsDependOnNeitherThreadsNorProcessor) {
  if (!packedTileFunction())
    GTEST_SKIP() << "this processor has no AVX2";
  const std::vector<float> one = packedProduct(nullptr, 1);
  EXPECT_EQ(packedProduct(nullptr, 3), one);
  EXPECT_EQ(packedProduct(packedTileFunction(), 1), one);
#if defined(__x86_64__)
  EXPECT_EQ(packedProduct(&avx2::computeTile, 1), one);
#endif
}

int64_t threadCount() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       {});
}

/// What a large product by oneDNN adds to the threads of this process.
static int64_t threadsOfOneDnn(int allowed) {
  int64_t added = -1;
  // OpenMP keeps the threads of each thread that has computed.
  std::thread caller([&] {
    const OneDnnThreads threads(allowed);
    const std::vector<BFloat16> ones(512 * 512, toBFloat16(1));
    std::vector<BFloat16> out(512 * 512);
    GemmProblem p = plain(1, 512, 512, 512);
    p.in = p.out = DType::BF16;
    const auto gemm = bindOneDnnGemm(p, {ones.data(), ones.data(), out.data()});
    if (!gemm)
      return;
    const int64_t before = threadCount();
    EXPECT_TRUE(execute(*gemm).ok());
    added = threadCount() - before;
    EXPECT_EQ(toFloat(out[0]), 512);
  });
  caller.join();
  return added;
}

TEST(Gemm, OneDnnHasTheThreadsItIsGiven) {
  const int64_t alone = threadsOfOneDnn(1);
  if (alone < 0)
    GTEST_SKIP() << "oneDNN has no fast product of this kind here";
  EXPECT_EQ(alone, 0);
  EXPECT_EQ(threadsOfOneDnn(3), 2);
}

TEST(Gemm, IntegerSumsWrapAround) {
  ThreadTeam team(1);
  const int32_t big = INT32_MAX, two = 2;
  int32_t out = 0;
  GemmProblem p = plain(1, 1, 1, 1);
  p.in = p.out = DType::I32;
  auto gemm = bindGemm(p, {&big, &two, &out}, team);
  ASSERT_TRUE(gemm.ok());
  ASSERT_TRUE(execute(**gemm).ok());
  EXPECT_EQ(out, -2);
}

TEST(Gemm, TypesWithoutProduct) {
  ThreadTeam team(1);
  GemmProblem p = plain(1, 1, 1, 1);
  p.in = DType::I8;
  const auto gemm = bindGemm(p, {}, team);
  ASSERT_FALSE(gemm.ok());
  EXPECT_EQ(gemm.status().message(), "no GEMM of i8 into f32");
}

} // namespace
} // namespace weft::runtime
