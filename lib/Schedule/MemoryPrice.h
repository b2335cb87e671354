//===- MemoryPrice.h - What memory is worth ---------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule may take 1 % longer if it holds 10 % less beside the states, which
// are held in any schedule. So one that takes 0.3 % longer and holds 30 % less
// is better, one that takes 3 % longer and holds 10 % less is not.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_MEMORYPRICE_H
#define WEFT_LIB_SCHEDULE_MEMORYPRICE_H

#include <algorithm>
#include <cstdint>

namespace weft {

inline constexpr double memoryPrice = 0.1;

/// How much worse a schedule is that takes `time` as long as another one and
/// holds `bytes` where that holds `others`, as a share of its time.
inline double worseBy(double time, int64_t bytes, int64_t others) {
  return time - 1 +
         memoryPrice * double(bytes - others) /
             double(std::max<int64_t>(others, 1));
}

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_MEMORYPRICE_H
