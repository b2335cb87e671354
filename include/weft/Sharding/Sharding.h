//===- Sharding.h - How a tensor is laid out over a mesh --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sharding says, for each dimension of a tensor, over which axes it is split
// (major to minor), whether propagation may add more axes (open) or not
// (closed), and which axes hold copies (replicated) or partial values of a
// reduction (unreduced). An axis that is mentioned nowhere holds copies too;
// naming it as replicated only forbids propagation to use it.
//
// Example: tensor<8x6> with [{"a"}, {}] on <["a"=2, "b"=3]> is held as 4x6 by
// each of the 6 devices; devices that differ in "b" hold equal parts.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SHARDING_SHARDING_H
#define WEFT_SHARDING_SHARDING_H

#include "weft/Sharding/Mesh.h"

namespace weft::sharding {

/// How the partial values that the ranks hold of an unreduced value are
/// combined.
enum class Reduction : uint8_t { Sum = 0, Max = 1, Min = 2 };

struct DimSharding {
  AxisList axes;
  bool closed = false;
  /// User priority: 0 is propagated first. Only user annotations carry one.
  std::optional<int64_t> priority;

  bool operator==(const DimSharding &other) const = default;
};

struct Sharding {
  llvm::SmallVector<DimSharding, 4> dims;
  AxisList replicated;
  AxisList unreduced;
  Reduction unreducedKind = Reduction::Sum;

  static Sharding open(size_t rank);
  static Sharding closed(size_t rank);

  bool operator==(const Sharding &other) const = default;

  /// Whether the two place data alike: equal axes and unreduced axes,
  /// whatever is open, closed, replicated by name, or prioritised.
  bool isEquivalentTo(const Sharding &other) const;
  /// Whether every device holds the whole, final value.
  bool isFullyReplicated() const;
  /// Whether `ref` is used by a dimension, replicated or unreduced.
  bool mentions(const AxisRef &ref) const;
};

using Shape = llvm::SmallVector<int64_t, 4>;

/// Shape of the part a device holds; none if an axis list does not divide its
/// dimension.
std::optional<Shape> localShape(llvm::ArrayRef<int64_t> global,
                                const Sharding &sharding);
/// Where the part of `device` starts in the whole. Requires divisibility.
Shape localOffsets(const Mesh &mesh, int64_t device,
                   llvm::ArrayRef<int64_t> global, const Sharding &sharding);

/// One problem of a sharding, in words that name the offending dimension and
/// axis, for example
///   `axis "data" is used by dim 0 and again by dim 1`.
/// Lists every broken legality rule: duplicate and overlapping axes,
/// replicated or unreduced axes out of mesh order or also used by a dimension,
/// neighbours that could be merged, sub-axes that do not factor the axis, a
/// priority on an empty closed dimension, a rank that is not `rank`.
std::vector<std::string> checkSharding(const Mesh &mesh,
                                       const Sharding &sharding, size_t rank);

/// `[{"a"}, {"b":(1)2, ?}p1], replicated={"c"}, unreduced={"d"}`.
std::string print(const Mesh &mesh, const Sharding &sharding);

} // namespace weft::sharding

#endif // WEFT_SHARDING_SHARDING_H
