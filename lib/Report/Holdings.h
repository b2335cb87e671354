//===- Holdings.h - What buffers hold when ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_REPORT_HOLDINGS_H
#define WEFT_LIB_REPORT_HOLDINGS_H

#include "weft/runtime/plan_generated.h"

#include <vector>

namespace weft {

/// What a buffer holds during [first, last].
struct Holding {
  const plan::Buffer *buffer;
  const plan::Content *content;
  uint64_t first, last;
};

/// What lies outside of the memory of states and constants. Parts count as what
/// they are parts of.
bool isShared(const plan::Buffer &buffer);

std::vector<Holding> findHoldings(const plan::Entry &entry);

} // namespace weft

#endif // WEFT_LIB_REPORT_HOLDINGS_H
