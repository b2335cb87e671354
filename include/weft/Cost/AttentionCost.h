//===- AttentionCost.h - Time of attention kernels --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fused attention: the products at the rate that the kernel's inner loop
// reaches, and the traffic of queries, keys, values and outputs, which hides
// behind them in part.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_ATTENTIONCOST_H
#define WEFT_COST_ATTENTIONCOST_H

#include "weft/Cost/Calibration.h"

namespace weft::cost {

/// What frameworks take on a device: cuDNN from Hopper on.
AttentionKernel defaultAttentionKernel(const Device &device);

struct Attention {
  int64_t batch = 1, heads = 1, keyValueHeads = 1;
  int64_t queryLength = 1, keyLength = 1, headSize = 128;
  bool isCausal = false;
  bool isBackward = false;
  Precision precision = Precision::BF16;
  /// As of a Gemm.
  bool isWarm = false;

  /// As papers count: 4 batch heads queries keys size, half of it if causal,
  /// 2.5 times that backward.
  double flops() const;
};

/// From launch to end.
double attentionSeconds(const Device &device, const Attention &attention,
                        AttentionKernel kernel, const Calibration &calibration);

} // namespace weft::cost

#endif // WEFT_COST_ATTENTIONCOST_H
