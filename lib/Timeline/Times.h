//===- Times.h - Times that are compared ------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_TIMELINE_TIMES_H
#define WEFT_LIB_TIMELINE_TIMES_H

#include <limits>

namespace weft::timeline {

inline constexpr double never = std::numeric_limits<double>::infinity();
/// By how much equal sums of times, or of memory, may differ in another order.
inline constexpr double roundingError = 1e-9;

} // namespace weft::timeline

#endif // WEFT_LIB_TIMELINE_TIMES_H
