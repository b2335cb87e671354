//===- GemmCost.cpp - Time of matrix products -----------------------------===//
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
#include <span>

using namespace weft;
using namespace weft::cost;

namespace {
struct Tile {
  double m, n;
};
} // namespace

// What cuBLAS has kernels for; a CPU's is what its registers hold.
static constexpr Tile gpuTiles[] = {{256, 128}, {128, 256}, {128, 128},
                                    {128, 64},  {64, 128},  {64, 64}};
static constexpr Tile cpuTiles[] = {{8, 16}};
static constexpr double splits[] = {1, 2, 4, 8};
/// A split of k keeps at least so much.
static constexpr double leastDepth = 256;
static constexpr double alignmentBytes = 16;

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

static bool isAligned(const Gemm &gemm) {
  const auto isWhole = [&](int64_t elements) {
    return std::fmod(static_cast<double>(elements) * bytesOf(gemm.precision),
                     alignmentBytes) == 0;
  };
  return isWhole(gemm.transposeA ? gemm.m : gemm.k) &&
         isWhole(gemm.transposeB ? gemm.k : gemm.n) && isWhole(gemm.n);
}

double cost::gemmSeconds(const Device &device, const Gemm &gemm,
                         const Calibration &calibration) {
  const bool isCpu = device.generation == Generation::Cpu;
  const double units = static_cast<double>(device.units);
  double unitRate = peakFlopsPerSecond(device, gemm.precision) *
                    of(calibration.gemmRate, device) / units;
  if (!isCpu && !isAligned(gemm))
    unitRate *= calibration.gemmUnalignedRate;
  const double k = static_cast<double>(gemm.k);
  const double fill =
      isCpu ? 0 : calibration.gemmFillDepth * 2 / bytesOf(gemm.precision);
  const double edge = isCpu ? 0 : calibration.gemmTileEdge;
  double best = std::numeric_limits<double>::infinity();
  for (const Tile &tile : isCpu ? std::span<const Tile>(cpuTiles)
                                : std::span<const Tile>(gpuTiles))
    for (double split : splits) {
      const double whole = static_cast<double>(gemm.batch) *
                           std::ceil(static_cast<double>(gemm.m) / tile.m) *
                           std::ceil(static_cast<double>(gemm.n) / tile.n);
      // Libraries split what does not fill the device otherwise.
      if (split > 1 && (isCpu || whole >= units || k < split * leastDepth))
        break;
      const double tiles = whole * split;
      const double depth = std::ceil(k / split) + fill;
      const double tileSeconds = 2 * tile.m * tile.n * depth / unitRate *
                                 (1 + edge * (1 / tile.m + 1 / tile.n));
      double seconds = std::ceil(tiles / units) * tileSeconds;
      // Partial results are written and added up in f32.
      if (split > 1)
        seconds += memorySeconds(
            device,
            {split * 4 * static_cast<double>(gemm.batch * gemm.m * gemm.n),
             split * 4 * static_cast<double>(gemm.batch * gemm.m * gemm.n)},
            calibration);
      best = std::min(best, seconds);
    }
  const double traffic = gemm.bytes() / (device.memoryBytesPerSecond *
                                         (isCpu ? 1 : calibration.readRate));
  return device.launchSeconds + (isCpu ? 0 : calibration.gemmStartSeconds) +
         std::max(best, traffic);
}
