//===- MemoryCost.h - Time of kernels that memory bounds --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementwise kernels, reductions, normalisations and copies take as long as
// their bytes. Small ones reach less of the bandwidth, copies less than reads.
//
// Example: a kernel that reads and writes 64 MiB on an H100 reaches 2.95 TB/s
// of 3.35 and takes 45 us, and 5 us more from launch to end.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_MEMORYCOST_H
#define WEFT_COST_MEMORYCOST_H

#include "weft/Cost/Calibration.h"

namespace weft::cost {

struct MemoryTraffic {
  double readBytes = 0, writtenBytes = 0;
  double bytes() const { return readBytes + writtenBytes; }
};

/// Of the traffic alone, without a launch.
double memorySeconds(const Device &device, const MemoryTraffic &traffic,
                     const Calibration &calibration);
/// From launch to end.
double memoryKernelSeconds(const Device &device, const MemoryTraffic &traffic,
                           const Calibration &calibration);
/// A copy between device and host.
double hostCopySeconds(const Device &device, double bytes,
                       const Calibration &calibration);

} // namespace weft::cost

#endif // WEFT_COST_MEMORYCOST_H
