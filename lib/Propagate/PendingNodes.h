//===- PendingNodes.h - The nodes that wait for a visit ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_LIB_PROPAGATE_PENDINGNODES_H
#define WEFT_LIB_PROPAGATE_PENDINGNODES_H

#include "llvm/ADT/bit.h"

#include <cstdint>
#include <vector>

namespace weft::propagation {

/// A set of numbers below a bound that gives its least element. Levels of bits:
/// a bit is set if the 64 bits below it are not all clear, so that insertion
/// and removal touch log64(bound) words.
class PendingNodes {
public:
  explicit PendingNodes(size_t bound) {
    do {
      bound = (bound + 63) / 64;
      levels.emplace_back(bound, 0);
    } while (bound > 1);
  }

  bool empty() const {
    return levels.back().empty() || levels.back().front() == 0;
  }

  void insert(size_t number) {
    for (std::vector<uint64_t> &level : levels) {
      level[number / 64] |= uint64_t(1) << number % 64;
      number /= 64;
    }
  }

  /// Removes the least element. The set is not empty.
  size_t takeFirst() {
    size_t first = 0;
    for (size_t level = levels.size(); level-- > 0;)
      first = first * 64 + llvm::countr_zero(levels[level][first]);
    size_t number = first;
    for (std::vector<uint64_t> &level : levels) {
      level[number / 64] &= ~(uint64_t(1) << number % 64);
      if (level[number / 64] != 0)
        break;
      number /= 64;
    }
    return first;
  }

private:
  std::vector<std::vector<uint64_t>> levels;
};

} // namespace weft::propagation

#endif // WEFT_LIB_PROPAGATE_PENDINGNODES_H
