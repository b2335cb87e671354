//===- small_gemms.cpp - GEMMs of few rows or columns ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f32 GEMMs with less than eight rows or columns, which are not packed, by
// oneDNN and in plain C++ on one thread. Medians of alternating runs.
//
//===----------------------------------------------------------------------===//

#include "cpu/Gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <vector>

using namespace weft::runtime;

static double median(std::vector<double> values) {
  const auto middle = values.begin() + values.size() / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

static double microseconds(BoundGemm &gemm, int times) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i)
    if (Status status = gemm.run(); !status.ok())
      std::abort();
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now() - begin)
             .count() /
         times;
}

/// Plain C++ over oneDNN; 0 where oneDNN has no fast kernel.
static double compare(int64_t m, int64_t n, int64_t k, bool lhsTransposed,
                      bool rhsTransposed) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> lhs(m * k), rhs(k * n), out(m * n);
  for (std::vector<float> *operand : {&lhs, &rhs})
    for (float &element : *operand)
      element = normal(generator);
  GemmProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.lhs = {m * k, lhsTransposed ? 1 : k, lhsTransposed ? m : 1};
  problem.rhs = {k * n, rhsTransposed ? 1 : n, rhsTransposed ? k : 1};
  problem.result = {m * n, n, 1};
  const GemmOperands operands{lhs.data(), rhs.data(), out.data()};
  auto oneDnn = bindOneDnnGemm(problem, operands);
  if (!oneDnn)
    return 0;
  auto plain = bindReferenceGemm(problem, operands);
  void *scratchpad =
      std::aligned_alloc(64, (oneDnn->scratchpadBytes() / 64 + 1) * 64);
  if (!oneDnn->bindScratchpad(scratchpad).ok())
    std::abort();

  constexpr int rounds = 15;
  const int times = std::clamp<int>(4'000'000 / (m * n * k), 1, 200);
  std::vector<double> ours, theirs;
  for (int i = 0; i < rounds; ++i) {
    theirs.push_back(microseconds(*oneDnn, times));
    ours.push_back(microseconds(*plain.value(), times));
  }
  fmt::print("{:>6} {:>6} {:>6}  {}{}  {:>10.2f} {:>10.2f} {:>7.2f}\n", m, n, k,
             lhsTransposed ? 't' : 'n', rhsTransposed ? 't' : 'n',
             median(theirs), median(ours), median(ours) / median(theirs));
  std::free(scratchpad);
  return median(ours) / median(theirs);
}

int main() {
  fmt::print("{:>6} {:>6} {:>6}  layout {:>8} us {:>8} us   ratio\n", "m", "n",
             "k", "oneDNN", "plain");
  const OneDnnThreads one(1);
  std::vector<double> ratios;
  for (int64_t few : {1, 2, 4, 7})
    for (int64_t many : {64, 1024, 4096})
      for (int64_t k : {64, 1024})
        for (bool transposed : {false, true}) {
          ratios.push_back(compare(few, many, k, false, transposed));
          ratios.push_back(compare(many, few, k, transposed, false));
        }
  for (int64_t k : {64, 1024, 65536})
    ratios.push_back(compare(1, 1, k, false, false));
  std::erase(ratios, 0);
  fmt::print("{} shapes, plain over oneDNN: least {:.2f}, median {:.2f}, most "
             "{:.2f}\n",
             ratios.size(), std::ranges::min(ratios), median(ratios),
             std::ranges::max(ratios));
}
