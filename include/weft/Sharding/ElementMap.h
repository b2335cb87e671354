//===- ElementMap.h - Elements that move along a dimension ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slices, concatenations and paddings take the elements of a dimension to other
// positions. Where the dimension is split, most stay on their device, and those
// that do not are few and known.
//
// A dimension is a list of segments, behind each other. Each is split over the
// members of a group; a member holds its part of every segment, behind each
// other. The map speaks of positions in the whole segments, so that its size
// does not depend on that of the group.
//
// Example: 192 columns over 4 members, and their thirds, each over 4 members:
//   from {48}, to {16, 16, 16}, one run of 192 elements from 0 to 0
//   member 0 has columns 0-47 before, and 0-15, 64-79, 128-143 after
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SHARDING_ELEMENTMAP_H
#define WEFT_SHARDING_ELEMENTMAP_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft::sharding {

/// Elements `from`, `from` + `step`, ... go to `to`, `to` + 1, ...
struct ElementRun {
  int64_t from = 0;
  int64_t to = 0;
  int64_t length = 0;
  int64_t step = 1;

  bool operator==(const ElementRun &other) const = default;
};

struct ElementMap {
  /// Sizes of the parts that a member has of the segments.
  std::vector<int64_t> from, to;
  std::vector<ElementRun> runs;

  bool operator==(const ElementMap &other) const = default;

  /// What makes the map of a group of `members` illegal, or an empty string.
  std::string check(int64_t members) const;
  bool isDivisibleBy(int64_t members) const;
  /// The same map of segments of which each member has one part of `members`.
  ElementMap dividedBy(int64_t members) const;

  /// Elements that go from one member to one other, or stay: neighbours where
  /// they come to, `step` apart where they come from.
  struct Piece {
    int64_t sender, receiver;
    /// Positions in what the members hold.
    int64_t from, to;
    int64_t length, step;
  };
  void forEachPiece(int64_t members,
                    const std::function<void(const Piece &)> &visit) const;
  /// The most elements that a member sends to others.
  int64_t mostSent(int64_t members) const;

  /// From where the elements went to where they came from. All runs have step
  /// 1.
  ElementMap inverse() const;
  /// The same pieces. Where a segment is the only one of its side, and each
  /// member has a part of each run next to that of the member before, it is a
  /// segment for each run: the map has one size for groups of all sizes.
  ElementMap bySegments(int64_t members) const;
};

/// The map that puts the parts of a dimension, given by their sizes, in blocks
/// one inside the other: the first block of each part, then the second of each,
/// and so on. Split over as many members as there are `blocks`, each has a
/// block of every part.
///
/// Example: parts of 4 and 2 in 2 blocks: 0 1 4, 2 3 5.
ElementMap interleave(const std::vector<int64_t> &parts, int64_t blocks);

} // namespace weft::sharding

#endif // WEFT_SHARDING_ELEMENTMAP_H
