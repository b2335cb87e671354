//===- ElementCost.h - Time of element-wise arithmetic ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel computes with the elements that it reads and writes. A kernel
// takes as long as its bytes or as its arithmetic, whichever is longer: on a
// GPU nearly always the bytes, on a CPU often functions such as exp.
//
// Example: GELU of 1M elements on a core that calls tanh in 0.17 ns and does
// 70 Gflop/s otherwise: 8 MiB in the cache take 0.08 ms, 1M calls and 8M other
// operations 0.18 + 0.12 ms, and so does the kernel.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_ELEMENTCOST_H
#define WEFT_COST_ELEMENTCOST_H

#include "weft/Cost/Calibration.h"

namespace weft::cost {

struct ElementWork {
  /// Operations, each call of a function one of them.
  double flops = 0;
  std::array<double, functionCount> calls = {};

  /// Of a function by name; what is none is an operation as any.
  void addCalls(std::string_view name, double count);
};

/// Of the arithmetic alone.
double elementSeconds(const Device &device, const ElementWork &work,
                      const Calibration &calibration);

} // namespace weft::cost

#endif // WEFT_COST_ELEMENTCOST_H
