//===- ReshardRelabel.h - Clashing sub-axes take places ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An axis that two shardings cut in clashing ways has the same prime factors in
// both. A permute lets each prime digit of one cut take the place of a digit of
// the same size of the other; what is left of the reshard knows one cut only.
//
// Example, on <["a"=6]>: partial sums over "a":(1)3, wanted split over "a":(2)3
//   digits of the source "a":(1)3, "a":(3)2, of the target "a":(1)2, "a":(2)3
//   reduce_scatter over "a":(1)3, then permute "a":(1)3, "a":(3)2 to
//   "a":(2)3, "a":(1)2
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SHARDING_RESHARDRELABEL_H
#define WEFT_LIB_SHARDING_RESHARDRELABEL_H

#include "weft/Sharding/Sharding.h"

#include <vector>

namespace weft::sharding {

/// Digit `i` of `source`, one of the cut of the source, takes the place of
/// digit `i` of `target`. Both list all digits of the axes concerned.
struct Relabeling {
  llvm::SmallVector<AxisRef, 8> source, target;
};

/// The ways to pair the digits of `axes`, at most `maxRelabelings` of them.
inline constexpr size_t maxRelabelings = 24;
std::vector<Relabeling> findRelabelings(const Mesh &mesh, const Sharding &from,
                                        const Sharding &to,
                                        llvm::ArrayRef<int32_t> axes);

/// `sharding` with each digit of `old` replaced by the one of `by` at its
/// place. Closed, and without replicated axes.
Sharding relabel(const Sharding &sharding, llvm::ArrayRef<AxisRef> old,
                 llvm::ArrayRef<AxisRef> by);

} // namespace weft::sharding

#endif // WEFT_LIB_SHARDING_RESHARDRELABEL_H
