//===- ReshardEnumeration.h - All shardings of a small mesh -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every placement of a few digits (axes or sub-axes) on the dimensions of a
// tensor, for tests that claim something of all of them.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_UNIT_SHARDING_RESHARDENUMERATION_H
#define WEFT_TEST_UNIT_SHARDING_RESHARDENUMERATION_H

#include "weft/Sharding/Sharding.h"

#include <algorithm>
#include <vector>

namespace weft::sharding {

/// Digits in lists by dimension; the others are unreduced or replicated.
struct Placement {
  std::vector<std::vector<int>> dims;
  std::vector<int> unreduced;

  auto operator<=>(const Placement &other) const = default;

  bool mentions(int digit) const {
    for (const std::vector<int> &dim : dims)
      if (std::find(dim.begin(), dim.end(), digit) != dim.end())
        return true;
    return std::find(unreduced.begin(), unreduced.end(), digit) !=
           unreduced.end();
  }

  Sharding toSharding(const std::vector<AxisRef> &digits,
                      Reduction reduction = Reduction::Sum) const {
    Sharding result = Sharding::closed(dims.size());
    for (size_t d = 0; d < dims.size(); ++d)
      for (int digit : dims[d])
        appendMerging(result.dims[d].axes, digits[digit]);
    for (int digit : unreduced)
      appendMerging(result.unreduced, digits[digit]);
    if (!unreduced.empty())
      result.unreducedKind = reduction;
    return result;
  }
};

/// All placements of `digits` (in mesh order) whose shards divide `shape`.
inline std::vector<Placement> allPlacements(const std::vector<AxisRef> &digits,
                                            const std::vector<int64_t> &shape,
                                            bool withUnreduced) {
  std::vector<Placement> all = {
      {std::vector<std::vector<int>>(shape.size()), {}}};
  for (size_t i = 0; i < digits.size(); ++i) {
    std::vector<Placement> next;
    for (const Placement &placement : all) {
      next.push_back(placement);
      if (withUnreduced) {
        next.push_back(placement);
        next.back().unreduced.push_back(i);
      }
      for (size_t d = 0; d < shape.size(); ++d) {
        for (size_t at = 0; at <= placement.dims[d].size(); ++at) {
          next.push_back(placement);
          std::vector<int> &dim = next.back().dims[d];
          dim.insert(dim.begin() + at, i);
        }
      }
    }
    all = std::move(next);
  }
  std::erase_if(all, [&](const Placement &placement) {
    return !localShape(shape, placement.toSharding(digits));
  });
  return all;
}

} // namespace weft::sharding

#endif // WEFT_TEST_UNIT_SHARDING_RESHARDENUMERATION_H
