//===- Liveness.h - Where registers hold what is read later -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_LIVENESS_H
#define WEFT_EMULATOR_PTX_LIVENESS_H

#include "Program.h"

#include <vector>

namespace weft::emulator {

/// The first and the last operation at which a register is in use.
struct Interval {
  uint32_t first = ~0u, last = 0;
  bool isUsed() const { return first <= last; }
  void include(uint32_t position) {
    first = std::min(first, position);
    last = std::max(last, position);
  }
};

/// The intervals of `count` registers, whose indices the operands are.
std::vector<Interval> computeIntervals(const Program &program, size_t count);

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_LIVENESS_H
