//===- Padding.h - Dimensions that their shards do not divide ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dimension that its shards do not divide is held with elements that mean
// nothing behind its last one. Dimensions that ops walk together get one padded
// size, which all numbers of shards divide in which one of them is held: what
// the devices hold then lies at the same indices in all of them, and a part of
// a part is a part.
//
// Example: the 50257 rows of a table over 4 shards, and of its optimizer state
// over 8. Both are padded to 50264: 12566 rows a shard, and 6283.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SHARDING_PADDING_H
#define WEFT_SHARDING_PADDING_H

#include "weft/Sharding/Sharding.h"
#include "weft/Sharding/ShardingRule.h"

namespace weft::sharding {

/// The least multiple of `shards` that is not less than `size`.
int64_t paddedSize(int64_t size, int64_t shards);

/// Whether `local` is the shape of a part of `global`. A dimension that is
/// split may be padded by fewer elements than the mesh has devices: numbers of
/// shards divide the number of devices.
bool isLocalShape(const Mesh &mesh, llvm::ArrayRef<int64_t> local,
                  llvm::ArrayRef<int64_t> global, const Sharding &sharding);

/// Which dimensions go together, and the sizes that they are padded to.
class DimClasses {
public:
  /// Adds a dimension and returns its number.
  int32_t add(int64_t size);
  /// Notes that the dimension is held in so many shards.
  void split(int32_t dim, int64_t shards);
  /// Two dimensions of one size are walked together.
  void join(int32_t a, int32_t b);
  /// What the dimension is padded to where it is split: its size, if all
  /// numbers of shards divide it.
  int64_t paddedSize(int32_t dim) const;

private:
  struct Dim {
    int32_t parent;
    int64_t size;
    /// Least common multiple of the numbers of shards, and whether one of them
    /// does not divide the size. Of the root only.
    int64_t shards = 1;
    bool isUneven = false;
  };
  int32_t root(int32_t dim) const;

  mutable std::vector<Dim> dims;
};

/// By factor, whether no dimension has it together with other factors: only
/// then do elements behind the last one stay behind the last one.
llvm::SmallVector<bool, 4> findWholeDimFactors(const ShardingRule &rule);

} // namespace weft::sharding

#endif // WEFT_SHARDING_PADDING_H
