//===- MemoryCost.cpp - Time of kernels that memory bounds ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/MemoryCost.h"

#include <algorithm>
#include <cmath>

using namespace weft;
using namespace weft::cost;

/// What is left of the bandwidth however little is moved.
static constexpr double leastRate = 0.3;

double cost::memorySeconds(const Device &device, const MemoryTraffic &traffic,
                           const Calibration &calibration) {
  const double bytes = traffic.bytes();
  if (bytes <= 0)
    return 0;
  if (device.generation == Generation::Cpu) { // rates are measured ones
    const double cached = std::min(bytes, device.core.cacheBytes);
    return (bytes - cached) / device.memoryBytesPerSecond +
           (cached > 0 ? cached / device.core.cachedBytesPerSecond : 0);
  }
  const double written = std::min(1.0, 2 * traffic.writtenBytes / bytes);
  const double most = calibration.readRate +
                      written * (calibration.copyRate - calibration.readRate);
  const double rate =
      std::clamp(calibration.megabyteRate +
                     calibration.decadeRate * std::log10(bytes / 1e6),
                 leastRate, std::max(leastRate, most));
  return bytes / (device.memoryBytesPerSecond * rate);
}

double cost::memoryKernelSeconds(const Device &device,
                                 const MemoryTraffic &traffic,
                                 const Calibration &calibration) {
  return device.launchSeconds + memorySeconds(device, traffic, calibration);
}

double cost::hostCopySeconds(const Device &device, double bytes,
                             const Calibration &calibration) {
  const double rate =
      device.generation == Generation::Cpu ? 1 : calibration.hostRate;
  return device.launchSeconds + bytes / (device.hostBytesPerSecond * rate);
}
