//===- ElementCost.cpp - Time of element-wise arithmetic ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/ElementCost.h"

#include "weft/Cost/GemmCost.h"

#include <algorithm>

using namespace weft;
using namespace weft::cost;

void ElementWork::addCalls(std::string_view name, double count) {
  if (const std::optional<Function> function = findFunction(name))
    calls[static_cast<size_t>(*function)] += count;
}

double cost::elementSeconds(const Device &device, const ElementWork &work,
                            const Calibration &calibration) {
  const CoreRates &core = device.core;
  if (core.elementFlopsPerSecond <= 0)
    return work.flops / (peakFlopsPerSecond(device, Precision::F32) *
                         of(calibration.gemmRate, device));
  // What was not measured is as slow as the slowest.
  const double longest = *std::ranges::max_element(core.functionSeconds);
  double calls = 0, seconds = 0;
  for (size_t i = 0; i < functionCount; ++i) {
    const double measured = core.functionSeconds[i];
    // No operation, and cheap where nothing else is known.
    const bool isSum = static_cast<Function>(i) == Function::Extf;
    calls += isSum ? 0 : work.calls[i];
    seconds += work.calls[i] * (measured > 0 || isSum ? measured : longest);
  }
  return seconds +
         std::max(0.0, work.flops - calls) / core.elementFlopsPerSecond;
}
