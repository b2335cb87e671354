//===- Sort.h - The order of elements ---------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements become unsigned integers of the same order, their keys, with their
// indices behind them: pairs of which no two are equal. A few of many are kept
// in a heap while all are looked at once; many of 32 bits are sorted by their
// digits.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CPU_SORT_H
#define WEFT_RUNTIME_SRC_CPU_SORT_H

#include "cpu/BoundOperation.h"
#include "weft/runtime/DType.h"

#include <cstdint>
#include <memory>

namespace weft::runtime {

class ThreadTeam;

/// As plan::Sort says.
struct SortProblem {
  DType dtype;
  int64_t outer, size, inner, count;
  bool isDescending;
};

std::unique_ptr<BoundOperation> bindSort(const SortProblem &problem,
                                         const void *operand, int32_t *out,
                                         ThreadTeam &team);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CPU_SORT_H
