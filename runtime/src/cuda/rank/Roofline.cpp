//===- Roofline.cpp - How long a step should take ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/rank/Roofline.h"

#include "weft/runtime/VisitOperation.h"

#include <algorithm>

namespace weft::runtime {

/// Operations of one multiprocessor in a clock cycle, dense.
struct PerCycle {
  int generation;
  double halfProducts, tf32Products, plain;
};
static constexpr PerCycle perCycle[] = {
    {8, 2048, 1024, 128}, {9, 4096, 2048, 256}, {10, 8192, 4096, 256}};

Roofline Roofline::of(const Cudart &cudart, const CudaDevice &device) {
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    const cudaError_t error =
        cudart.deviceGetAttribute(&value, which, device.number);
    return error == cudaSuccess ? static_cast<double>(value) : 0;
  };
  Roofline peaks;
  // Clocks are in kHz, the width in bits; memory moves data twice a cycle.
  peaks.bytes = attribute(cudaDevAttrMemoryClockRate) * 1e3 * 2 *
                attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
  const double cycles = attribute(cudaDevAttrClockRate) * 1e3 *
                        attribute(cudaDevAttrMultiProcessorCount);
  for (const PerCycle &each : perCycle)
    if (each.generation == device.processor / 10) {
      peaks.halfProducts = cycles * each.halfProducts;
      peaks.tf32Products = cycles * each.tf32Products;
      peaks.plain = cycles * each.plain;
    }
  return peaks;
}

static bool isHalf(const plan::Entry &entry, uint32_t buffer) {
  const plan::DType dtype = entry.buffers()->Get(buffer)->dtype();
  return dtype == plan::DType::BF16 || dtype == plan::DType::F16;
}

/// What the operations of an instruction run at.
static double rateOf(const Roofline &peaks, const plan::Entry &entry,
                     const plan::Instruction &instruction) {
  return visitOperation(
      instruction,
      [&](const plan::Gemm &gemm) {
        if (isHalf(entry, gemm.lhs()))
          return peaks.halfProducts;
        return gemm.precision() == plan::GemmPrecision::TF32
                   ? peaks.tf32Products
                   : peaks.plain;
      },
      [&](const AttentionOperation auto &attention) {
        return isHalf(entry, attention.query()) ? peaks.halfProducts
                                                : peaks.plain;
      },
      [&](const OneOf<plan::Launch, plan::CollectiveStart, plan::CollectiveWait,
                      plan::Copy, plan::Repeat, plan::Sort,
                      plan::Convolution> auto &) { return peaks.plain; });
}

double Roofline::predict(const plan::Entry &entry,
                         const plan::Instruction &instruction) const {
  const double rate = rateOf(*this, entry, instruction);
  if (instruction.stream() != 0 || bytes == 0 || rate == 0)
    return 0;
  return std::max(static_cast<double>(instruction.bytes()) / bytes,
                  static_cast<double>(instruction.flops()) / rate);
}

} // namespace weft::runtime
