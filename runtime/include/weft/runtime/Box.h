//===- Box.h - Boxes of row-major arrays ------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The elements of an array whose index in every dimension lies in a range, and
// the contiguous runs that they are in memory or in a file.
//
// Example: the box at {0, 2} of {2, 2} elements of an array of {2, 4} is two
// runs of 2 elements, at elements 2 and 6 of the array and 0 and 2 of a copy of
// the box alone.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_BOX_H
#define WEFT_RUNTIME_BOX_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::runtime {

struct Box {
  std::vector<int64_t> start;
  std::vector<int64_t> extent;

  /// All of an array.
  static Box whole(std::span<const int64_t> extents) {
    return {std::vector<int64_t>(extents.size()),
            {extents.begin(), extents.end()}};
  }
  bool contains(const Box &other) const {
    for (size_t d = 0; d < start.size(); ++d)
      if (other.start[d] < start[d] ||
          other.start[d] + other.extent[d] > start[d] + extent[d])
        return false;
    return true;
  }
  int64_t elements() const {
    int64_t count = 1;
    for (int64_t size : extent)
      count *= size;
    return count;
  }
};

/// Where a box lies in an array: the array's extents, and the first index of
/// the box in it.
struct Placement {
  std::span<const int64_t> extents;
  std::span<const int64_t> start;
};

/// Calls `visit(element in a, element in b, number of elements)` for every
/// longest run that is contiguous in both arrays, in row-major order.
template <typename Visit>
void forEachRun(const Placement &a, const Placement &b,
                std::span<const int64_t> extent, Visit &&visit) {
  const size_t rank = extent.size();
  // Trailing dimensions that are whole in both join the run.
  size_t inner = rank;
  int64_t run = 1;
  while (inner > 0) {
    --inner;
    run *= extent[inner];
    if (extent[inner] != a.extents[inner] || extent[inner] != b.extents[inner])
      break;
  }
  int64_t runs = 1;
  for (size_t d = 0; d < inner; ++d)
    runs *= extent[d];
  if (run == 0)
    return;
  std::vector<int64_t> index(inner, 0);
  for (int64_t r = 0; r < runs; ++r) {
    int64_t inA = 0, inB = 0;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t offset = d < inner ? index[d] : 0;
      inA = inA * a.extents[d] + a.start[d] + offset;
      inB = inB * b.extents[d] + b.start[d] + offset;
    }
    visit(inA, inB, run);
    for (size_t d = inner; d-- > 0;) {
      if (++index[d] < extent[d])
        break;
      index[d] = 0;
    }
  }
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_BOX_H
