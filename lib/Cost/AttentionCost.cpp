//===- AttentionCost.cpp - Time of attention kernels ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/AttentionCost.h"

#include "weft/Cost/GemmCost.h"
#include "weft/Cost/MemoryCost.h"

#include <algorithm>
#include <cmath>

using namespace weft;
using namespace weft::cost;

/// Five products backward for the two forward.
static constexpr double backwardProducts = 2.5;

AttentionKernel cost::defaultAttentionKernel(const Device &device) {
  return device.generation >= Generation::Hopper
             ? AttentionKernel::Cudnn
             : AttentionKernel::FlashAttention2;
}

static double productFlops(const Attention &attention) {
  return 4.0 * static_cast<double>(attention.batch * attention.heads) *
         static_cast<double>(attention.queryLength) *
         static_cast<double>(attention.keyLength) *
         static_cast<double>(attention.headSize) *
         (attention.isBackward ? backwardProducts : 1);
}

double Attention::flops() const {
  return productFlops(*this) * (isCausal ? 0.5 : 1);
}

static double rateOf(const Device &device, AttentionKernel kernel,
                     const Calibration &calibration) {
  switch (kernel) {
  case AttentionKernel::FlashAttention2:
    return of(calibration.flashAttention2Rate, device);
  case AttentionKernel::FlashAttention3:
    return of(calibration.flashAttention3Rate, device);
  case AttentionKernel::Cudnn:
    break;
  }
  return of(calibration.cudnnAttentionRate, device);
}

/// Blocks on the diagonal are computed whole.
static double causalShare(const Attention &attention, double block) {
  return attention.isCausal
             ? std::min(1.0, 0.5 * (1 + block / static_cast<double>(
                                                    attention.keyLength)))
             : 1;
}

/// What the operands and results of a CPU's kernel take beyond the cache: as
/// those of a matmul. Backward, all operands and outputs are read.
static double cpuTrafficSeconds(const Device &device,
                                const Attention &attention) {
  const CoreRates &core = device.core;
  if (attention.isWarm || core.gemmBytesPerSecond <= 0)
    return 0;
  const double row = bytesOf(attention.precision) *
                     static_cast<double>(attention.batch * attention.headSize);
  const double queries =
      row * static_cast<double>(attention.heads * attention.queryLength);
  const double keys =
      row * static_cast<double>(attention.keyValueHeads * attention.keyLength);
  const double read = (attention.isBackward ? 3 : 1) * queries + 2 * keys;
  const double written = queries + (attention.isBackward ? 2 * keys : 0);
  return read / device.memoryBytesPerSecond + written / core.gemmBytesPerSecond;
}

/// The runtime's own kernels, whose blocks stay in the cache.
static double cpuAttentionSeconds(const Device &device,
                                  const Attention &attention) {
  constexpr double block = 64;
  const double rate = attention.isBackward
                          ? device.core.attentionGradFlopsPerSecond
                          : device.core.attentionFlopsPerSecond;
  return device.launchSeconds +
         productFlops(attention) * causalShare(attention, block) / rate +
         cpuTrafficSeconds(device, attention);
}

double cost::attentionSeconds(const Device &device, const Attention &attention,
                              AttentionKernel kernel,
                              const Calibration &calibration) {
  if (device.core.attentionFlopsPerSecond > 0)
    return cpuAttentionSeconds(device, attention);
  double rate = peakFlopsPerSecond(device, attention.precision) *
                rateOf(device, kernel, calibration);
  double traffic =
      bytesOf(attention.precision) * 2 *
      static_cast<double>(attention.batch * attention.headSize) *
      static_cast<double>(attention.heads * attention.queryLength +
                          attention.keyValueHeads * attention.keyLength);
  if (attention.isBackward) {
    rate *= calibration.attentionBackwardRate;
    traffic *= calibration.attentionBackwardTraffic;
  }
  double compute = productFlops(attention) / rate;
  if (attention.isCausal)
    compute *= causalShare(attention, calibration.causalBlock) *
               calibration.causalImbalance;
  const double memory =
      memorySeconds(device, {traffic * 0.75, traffic * 0.25}, calibration);
  return device.launchSeconds + std::hypot(compute, memory);
}
