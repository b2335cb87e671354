//===- Fit.cpp - The numbers of a cluster from measurements ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fit.h"

#include "weft/Cost/AttentionCost.h"
#include "weft/Cost/CollectiveTime.h"
#include "weft/Cost/GemmCost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

using namespace weft::cost;
using weft::runtime::DType;

namespace weft::tools {

/// A rate that takes no time.
static constexpr double noLimit = 1e15;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Points of a curve: bytes, and the rate at which they are moved. Fast while
/// they stay in the cache, and slow beyond it.
using RateCurve = std::vector<std::pair<double, double>>;

struct CacheFit {
  double cacheBytes = 0, cachedRate = 0, rate = 0;
};

/// The median rate of the points above a rate.
static double medianAbove(const RateCurve &curve, double least) {
  std::vector<double> rates;
  for (const auto &[bytes, rate] : curve)
    if (rate >= least)
      rates.push_back(rate);
  return medianOf(rates);
}

/// The cache ends where less than three quarters of what it gains is left.
static CacheFit fitCache(RateCurve curve) {
  constexpr double left = 0.75;
  std::ranges::sort(curve);
  CacheFit fit;
  fit.rate = curve.back().second;
  const double best =
      std::ranges::max_element(curve, {}, &RateCurve::value_type::second)
          ->second;
  fit.cachedRate = medianAbove(curve, std::sqrt(best * fit.rate));
  for (const auto &[bytes, rate] : curve)
    if (rate > fit.rate + left * (fit.cachedRate - fit.rate))
      fit.cacheBytes = bytes;
  return fit;
}

static void fitMemory(const Results &results, Cluster &cluster) {
  RateCurve alone;
  std::vector<double> together;
  for (const MemoryRow &row : results.memory) {
    const double rate = row.bytes / row.seconds;
    if (row.ranks == 1)
      alone.emplace_back(row.bytes, rate);
    else
      together.push_back(rate * row.ranks);
  }
  CacheFit fit = fitCache(alone);
  // What a step moves is of all sizes beyond the cache, not the most.
  std::vector<double> beyond;
  for (const auto &[bytes, rate] : alone)
    if (bytes > fit.cacheBytes)
      beyond.push_back(rate);
  if (!beyond.empty())
    fit.rate = medianOf(beyond);
  Device &device = cluster.device;
  device.core.cacheBytes = fit.cacheBytes;
  device.core.cachedBytesPerSecond = fit.cachedRate;
  device.memoryBytesPerSecond = fit.rate;
  // A copy reads and writes.
  device.hostBytesPerSecond = fit.rate / 2;
  if (!together.empty())
    cluster.node.memoryBytesPerSecond = medianOf(together);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static Gemm toGemm(const GemmShape &shape) {
  Gemm gemm{shape.m, shape.n, shape.k};
  gemm.precision = *findPrecision(runtime::name(shape.dtype));
  gemm.transposeA = shape.layout[0] == 't';
  gemm.transposeB = shape.layout[1] == 't';
  gemm.isWarm = true;
  return gemm;
}

/// Seconds of a product in three terms, of which each has a rate, at a rate of
/// one: products, copies in the cache, and results beyond it. Operands from
/// beyond it take a time that is known.
struct GemmTerms {
  std::array<double, 3> atRateOfOne{};
  double known = 0;
};

static GemmTerms termsOf(const Gemm &gemm, const Device &device) {
  constexpr double none = std::numeric_limits<double>::infinity();
  const auto secondsAt = [&](double flops, double copied, double results) {
    Device only = device;
    only.launchSeconds = 0;
    only.flopsPerSecond.fill(flops);
    only.core.gemmCachedBytesPerSecond = copied;
    only.core.gemmBytesPerSecond = results;
    return gemmSeconds(only, gemm, {});
  };
  GemmTerms terms;
  terms.known = secondsAt(none, none, none);
  terms.atRateOfOne = {secondsAt(1, none, none) - terms.known,
                       secondsAt(none, 1, none) - terms.known,
                       secondsAt(none, none, 1) - terms.known};
  return terms;
}

/// Seconds at the three rates, and the sum of the squared relative errors.
struct GemmFit {
  std::array<double, 3> seconds{};
  double error = std::numeric_limits<double>::infinity();
};

/// Of the symmetric equations `a x = b` with the unknowns in `used`, by Gauss;
/// others are zero.
static std::array<double, 3> solve(std::array<std::array<double, 3>, 3> a,
                                   std::array<double, 3> b, unsigned used) {
  const auto isUsed = [&](size_t i) { return used >> i & 1; };
  for (size_t i = 0; i < 3; ++i)
    for (size_t row = 0; row < 3; ++row) {
      if (row == i || !isUsed(i) || !isUsed(row) || a[i][i] == 0)
        continue;
      const double factor = a[row][i] / a[i][i];
      for (size_t column = 0; column < 3; ++column)
        a[row][column] -= factor * a[i][column];
      b[row] -= factor * b[i];
    }
  for (size_t i = 0; i < 3; ++i)
    b[i] = !isUsed(i) || a[i][i] == 0 ? 0 : b[i] / a[i][i];
  return b;
}

/// Least squares of relative errors. A term that would be negative is none.
static GemmFit fitTerms(const Results &results, const Device &device) {
  std::array<std::array<double, 3>, 3> a{};
  std::array<double, 3> b{};
  std::vector<std::pair<GemmTerms, double>> measured;
  for (const GemmRow &row : results.gemms) {
    if (row.shape.dtype != DType::F32)
      continue;
    const double took = row.timing.median;
    const GemmTerms terms = termsOf(toGemm(row.shape), device);
    measured.emplace_back(terms, took);
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 3; ++j)
        a[i][j] += terms.atRateOfOne[i] * terms.atRateOfOne[j] / (took * took);
      b[i] += terms.atRateOfOne[i] * (took - terms.known) / (took * took);
    }
  }
  GemmFit fit;
  for (unsigned used = 1; used < 8; ++used) {
    const std::array<double, 3> seconds = solve(a, b, used);
    if (std::ranges::any_of(seconds, [](double each) { return each < 0; }))
      continue;
    double error = 0;
    for (const auto &[terms, took] : measured) {
      double predicted = terms.known;
      for (size_t i = 0; i < 3; ++i)
        predicted += terms.atRateOfOne[i] * seconds[i];
      error += std::pow(predicted / took - 1, 2);
    }
    // Another term must be worth it.
    constexpr double roundingError = 1e-12;
    if (error < fit.error * (1 - 1e-3) - roundingError)
      fit = {seconds, error};
  }
  return fit;
}

/// How large results may be that stay in the cache: as the products say whose
/// results are of some sizes.
static void fitGemms(const Results &results, FittedCluster &fitted) {
  Device &device = fitted.cluster.device;
  std::set<double> sizes;
  for (const GemmRow &row : results.gemms)
    if (row.shape.dtype == DType::F32)
      sizes.insert(bytesOf(Precision::F32) * static_cast<double>(row.shape.m) *
                   static_cast<double>(row.shape.n));
  GemmFit best;
  for (double size : sizes) {
    Device tried = device;
    tried.core.gemmCacheBytes = size;
    if (const GemmFit fit = fitTerms(results, tried); fit.error < best.error) {
      best = fit;
      device.core.gemmCacheBytes = size;
    }
  }
  const auto rateOf = [](double each) {
    return each > 1 / noLimit ? 1 / each : noLimit;
  };
  device.flopsPerSecond[static_cast<size_t>(Precision::F32)] =
      rateOf(best.seconds[0]);
  device.core.gemmCachedBytesPerSecond = rateOf(best.seconds[1]);
  device.core.gemmBytesPerSecond = rateOf(best.seconds[2]);
  int count = 0;
  for (const GemmRow &row : results.gemms) {
    if (row.shape.dtype != DType::F32) {
      double &rate =
          device
              .flopsPerSecond[static_cast<size_t>(toGemm(row.shape).precision)];
      rate = std::max(rate, row.shape.flops() / row.timing.median);
      continue;
    }
    // Nothing launches what is timed.
    const double predicted =
        gemmSeconds(device, toGemm(row.shape), {}) - device.launchSeconds;
    const double error = std::abs(predicted / row.timing.median - 1);
    fitted.worstGemmError = std::max(fitted.worstGemmError, error);
    fitted.gemmError += error;
    ++count;
  }
  fitted.gemmError /= std::max(1, count);
}

/// Times at a rate of one, over those measured.
static void fitAttention(const Results &results, Device &device) {
  device.core.attentionFlopsPerSecond = 1;
  device.core.attentionGradFlopsPerSecond = 1;
  std::array<std::vector<double>, 2> rates;
  for (const AttentionRow &row : results.attention) {
    Attention attention{row.shape.batch,     row.shape.heads,
                        row.shape.keyHeads,  row.shape.positions,
                        row.shape.positions, row.shape.headSize};
    attention.isCausal = true;
    attention.isWarm = true;
    attention.isBackward = row.shape.isBackward;
    attention.precision = Precision::F32;
    rates[row.shape.isBackward].push_back(
        (attentionSeconds(device, attention, defaultAttentionKernel(device),
                          {}) -
         device.launchSeconds) /
        row.timing.median);
  }
  device.core.attentionFlopsPerSecond = medianOf(rates[0]);
  device.core.attentionGradFlopsPerSecond = medianOf(rates[1]);
}

static void fitElements(const Results &results, CoreRates &core) {
  core.elementFlopsPerSecond =
      results.arithmetic.flopsPerElement / results.arithmetic.secondsPerElement;
  for (const auto &[name, row] : results.functions)
    core.functionSeconds[static_cast<size_t>(*findFunction(name))] =
        row.secondsPerElement;
}

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

/// Of two ranks, which have a core each, or take turns on the only one.
static void fitLink(const Results &results, Cluster &cluster) {
  const double turns = cluster.node.devices == 1 ? 2 : 1;
  NodeLink &link = cluster.node.link;
  link.kind = LinkKind::SharedMemory;
  std::vector<double> latencies;
  const CollectiveRow *smallest = nullptr;
  for (const CollectiveRow &row : results.collectives)
    if (row.run.ranks == 2 &&
        (!smallest || row.run.bytes <= smallest->run.bytes)) {
      if (smallest && row.run.bytes < smallest->run.bytes)
        latencies.clear();
      smallest = &row;
      latencies.push_back(row.timing.typical() / turns / row.run.ranks);
    }
  link.latencySeconds = medianOf(latencies);
  // Each size at the rate that it has with the median kind.
  link.bytesPerSecond = link.cachedBytesPerSecond = 1;
  link.cacheBytes = 0;
  std::map<int64_t, std::vector<double>> ratesOf;
  for (const CollectiveRow &row : results.collectives) {
    if (row.run.ranks != 2)
      continue;
    cost::Placement pair = placeNeighbours(cluster, 2);
    const double bytes = static_cast<double>(row.run.bytes);
    Cluster slow = cluster;
    slow.node.link.latencySeconds = 0;
    const double moved =
        collectiveTime(slow, {row.run.kind, bytes, pair}, {}).seconds;
    const double seconds =
        std::min(row.timing.typical(), row.timing.cpu) / turns -
        2 * link.latencySeconds;
    if (seconds > link.latencySeconds)
      ratesOf[row.run.bytes].push_back(moved / seconds);
  }
  RateCurve curve;
  for (const auto &[bytes, rates] : ratesOf)
    curve.emplace_back(static_cast<double>(bytes), medianOf(rates));
  const CacheFit fit =
      curve.empty() ? CacheFit{0, noLimit, noLimit} : fitCache(curve);
  link.cacheBytes = fit.cacheBytes;
  link.cachedBytesPerSecond = fit.cachedRate;
  link.bytesPerSecond = fit.rate;
}

FittedCluster fitCluster(const Results &results, const Machine &machine) {
  FittedCluster fitted;
  Cluster &cluster = fitted.cluster;
  Device &device = cluster.device;
  device.generation = Generation::Cpu;
  device.kind = "core of " + machine.processor;
  device.memoryBytes = machine.memoryBytes / machine.cores;
  device.launchSeconds = results.launchSeconds;
  cluster.node.devices = machine.cores;
  fitMemory(results, cluster);
  fitGemms(results, fitted);
  fitAttention(results, device);
  fitElements(results, device.core);
  fitLink(results, cluster);
  return fitted;
}

} // namespace weft::tools
