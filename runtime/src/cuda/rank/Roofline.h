//===- Roofline.h - How long a step should take -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers that a plan has of each step, against the peaks of the device: no
// step is faster than its operations or its bytes allow. What a trace shows
// next to the measured time.
//
// Example: 4.3e9 bytes on a device of 4.8e12 bytes a second: 0.9 ms.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_RANK_ROOFLINE_H
#define WEFT_RUNTIME_SRC_CUDA_RANK_ROOFLINE_H

#include "cuda/platform/Device.h"

namespace weft::runtime {

/// Peaks of a device, in a second; 0 = unknown.
struct Roofline {
  double bytes = 0;
  /// Floating-point operations of GEMMs of 16-bit floats, of TF32, and of
  /// everything else.
  double halfProducts = 0;
  double tf32Products = 0;
  double plain = 0;

  /// From clocks and widths that the driver tells.
  static Roofline of(const Cudart &cudart, const CudaDevice &device);

  /// Seconds that an instruction takes at least; 0 = unknown, and for
  /// collectives, whose wire is not the device's memory.
  double predict(const plan::Entry &entry,
                 const plan::Instruction &instruction) const;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_RANK_ROOFLINE_H
