//===- GemmCost.cpp - Time of matmuls -------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/GemmCost.h"

#include "weft/Cost/MemoryCost.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace weft;
using namespace weft::cost;

namespace {
struct Tile {
  double m, n;
};
} // namespace

// What cuBLAS has kernels for.
static constexpr Tile tiles[] = {{256, 128}, {128, 256}, {128, 128},
                                 {128, 64},  {64, 128},  {64, 64}};
static constexpr double splits[] = {1, 2, 4, 8};
/// A split of k keeps at least so much.
static constexpr double leastDepth = 256;
static constexpr double alignmentBytes = 16, lineBytes = 128;

double Gemm::bytes() const {
  const double dm = static_cast<double>(m), dn = static_cast<double>(n),
               dk = static_cast<double>(k);
  return static_cast<double>(batch) * bytesOf(precision) *
         (dm * dk + dk * dn + dm * dn);
}

double cost::peakFlopsPerSecond(const Device &device, Precision precision) {
  // In the order in which a device without one takes the next.
  static constexpr Precision wider[] = {
      Precision::F4,   Precision::F8,  Precision::F16, Precision::BF16,
      Precision::TF32, Precision::F32, Precision::F64};
  if (device.peak(precision) > 0)
    return device.peak(precision);
  const auto *at = std::find(std::begin(wider), std::end(wider), precision);
  for (; at != std::end(wider); ++at)
    if (device.peak(*at) > 0)
      return device.peak(*at);
  // Of a wide format, or of integers, on a device that has none.
  return *std::max_element(device.flopsPerSecond.begin(),
                           device.flopsPerSecond.end());
}

/// All rows of operands and of the result start at multiples of `bytes`.
static bool isAligned(const Gemm &gemm, double bytes) {
  const auto isWhole = [&](int64_t elements) {
    return std::fmod(static_cast<double>(elements) * bytesOf(gemm.precision),
                     bytes) == 0;
  };
  return isWhole(gemm.transposeA ? gemm.m : gemm.k) &&
         isWhole(gemm.transposeB ? gemm.k : gemm.n) && isWhole(gemm.n);
}

/// Of one product of a batch on a CPU.
struct MovedBytes {
  /// Operands are copied into the order in which they are read, the left one
  /// for each block of columns. A transposed left operand is copied column by
  /// column, which takes longer.
  double packed = 0;
  /// What is read of them from beyond the cache.
  double operands = 0;
  /// Results that come from there, and go back, for each block of the sum.
  double results = 0;
};

static MovedBytes movedBytes(const Gemm &gemm, const CoreRates &core) {
  constexpr double blockColumns = 1024, blockDepth = 256, transposition = 3;
  const double size = bytesOf(gemm.precision);
  const auto m = static_cast<double>(gemm.m), n = static_cast<double>(gemm.n),
             k = static_cast<double>(gemm.k);
  const double left = size * m * k * std::ceil(n / blockColumns),
               right = size * k * n, result = size * m * n;
  MovedBytes moved;
  moved.packed = (gemm.transposeA ? transposition : 1) * left + right;
  if (!gemm.isWarm || size * (m * k + k * n) > core.cacheBytes)
    moved.operands = left + right;
  // A small result is written where something small was before.
  if (result > core.gemmCacheBytes)
    moved.results = result * std::ceil(k / blockDepth);
  else if (!gemm.isWarm && result > core.cacheBytes)
    moved.results = result;
  return moved;
}

/// A core's registers hold a tile of 8 rows and 16 columns.
static double cpuGemmSeconds(const Device &device, const Gemm &gemm) {
  constexpr double rows = 8, columns = 16;
  const auto up = [](int64_t size, double unit) {
    return unit * std::ceil(static_cast<double>(size) / unit);
  };
  const double batch = static_cast<double>(gemm.batch);
  const double computed = 2 * up(gemm.m, rows) * up(gemm.n, columns) *
                          static_cast<double>(gemm.k) * batch /
                          peakFlopsPerSecond(device, gemm.precision);
  const CoreRates &core = device.core;
  if (core.gemmBytesPerSecond <= 0)
    return std::max(computed, gemm.bytes() / device.memoryBytesPerSecond);
  const MovedBytes moved = movedBytes(gemm, core);
  return computed + batch * (moved.packed / core.gemmCachedBytesPerSecond +
                             moved.operands / device.memoryBytesPerSecond +
                             moved.results / core.gemmBytesPerSecond);
}

double cost::gemmSeconds(const Device &device, const Gemm &gemm,
                         const Calibration &calibration) {
  if (device.generation == Generation::Cpu)
    return device.launchSeconds + cpuGemmSeconds(device, gemm);
  const double units = static_cast<double>(device.units);
  double unitRate = peakFlopsPerSecond(device, gemm.precision) *
                    of(calibration.gemmRate, device) / units;
  if (!isAligned(gemm, alignmentBytes))
    unitRate *= calibration.gemmUnalignedRate;
  else if (!isAligned(gemm, lineBytes))
    unitRate *= calibration.gemmSplitLineRate;
  const double k = static_cast<double>(gemm.k);
  const double fill = calibration.gemmFillDepth * 2 / bytesOf(gemm.precision);
  double best = std::numeric_limits<double>::infinity();
  for (const Tile &tile : tiles)
    for (double split : splits) {
      const double whole = static_cast<double>(gemm.batch) *
                           std::ceil(static_cast<double>(gemm.m) / tile.m) *
                           std::ceil(static_cast<double>(gemm.n) / tile.n);
      // Libraries split what does not fill the device otherwise.
      if (split > 1 && (whole >= units || k < split * leastDepth))
        break;
      const double depth = std::ceil(k / split) + fill;
      const double tileSeconds =
          2 * tile.m * tile.n * depth / unitRate *
          (1 + calibration.gemmTileEdge * (1 / tile.m + 1 / tile.n));
      double seconds = std::ceil(whole * split / units) * tileSeconds;
      // Partial results are written and added up in f32.
      if (split > 1)
        seconds += memorySeconds(
            device,
            {split * 4 * static_cast<double>(gemm.batch * gemm.m * gemm.n),
             split * 4 * static_cast<double>(gemm.batch * gemm.m * gemm.n)},
            calibration);
      best = std::min(best, seconds);
    }
  const double traffic =
      gemm.bytes() / (device.memoryBytesPerSecond * calibration.readRate);
  return device.launchSeconds + calibration.gemmStartSeconds +
         std::max(best, traffic);
}
