//===- Halo.h - Windows over a split dimension ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A window covers elements of neighbouring shards where it reaches over their
// border. A member of a group that has some of the windows needs its own
// elements and a halo: the few before and behind that its windows cover.
//
// Example: 32 elements, windows of 3 at distance 1, one zero around, 4 members
//   member 1 has elements 8-15, and needs 7-16: 1 of each neighbour
//   map <[8] to [1, 8, 1]>, a run of step 8 for each of the outer two
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SHARDING_HALO_H
#define WEFT_SHARDING_HALO_H

#include "weft/Sharding/ElementMap.h"

#include <optional>

namespace weft::sharding {

/// What a member holds of a dimension in the end, and how it comes there.
struct HaloExchange {
  /// Zeros that each member first puts behind each of its elements.
  int64_t interior = 0;
  /// Of the exchange: from the shards to the halo before, as many elements as
  /// the windows of a member are apart, and the halo behind.
  ElementMap map;
  /// The elements that windows cover begin at `begin` of what was received.
  int64_t begin = 0, length = 0;
  /// The first of them is element `first` + `distance` * member of the whole
  /// dimension, which has `size` elements.
  int64_t first = 0, distance = 0, size = 0;
  /// Zeros that remain to be put before them, behind them and between them.
  int64_t low = 0, high = 0, dilation = 1;

  /// Whether something changes the member.
  bool moves() const;
  /// Whether windows of some member reach over an end of the dimension.
  bool reachesOver(int64_t members) const;
};

/// Windows over a dimension that has `dilation - 1` zeros between its elements:
/// window `i` covers `extent` of them from `i * step - low` on.
struct WindowedDim {
  int64_t size = 0, count = 0;
  int64_t step = 1, extent = 1, low = 0, dilation = 1;

  bool operator==(const WindowedDim &other) const = default;

  /// Between the members of a group that split the elements and the windows
  /// alike. None if either cannot be split so, or if a map would list too many
  /// elements of halos.
  std::optional<HaloExchange> exchange(int64_t members) const;
};

} // namespace weft::sharding

#endif // WEFT_SHARDING_HALO_H
