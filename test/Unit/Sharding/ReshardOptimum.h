//===- ReshardOptimum.h - The cheapest reshard by trying all ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dijkstra's algorithm over every layout of a tensor on a mesh, and every
// collective between them. The axes are cut into primes, and all of them may be
// used, those that neither sharding mentions too. Nothing is set aside and
// nothing estimated; the code has its own layouts, moves and prices, and none
// of the planner.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_UNIT_SHARDING_RESHARDOPTIMUM_H
#define WEFT_TEST_UNIT_SHARDING_RESHARDOPTIMUM_H

#include "weft/Sharding/Sharding.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>
#include <queue>
#include <set>
#include <vector>

namespace weft::sharding {

/// The price of a collective: a fixed one, and one for each byte that a device
/// sends, between devices of one block of `span` neighbours.
struct PriceLevel {
  int64_t span;
  int64_t fixed;
  int64_t perByte;
};

class ReshardOptimum {
public:
  /// `levels` from the smallest span, never cheaper outwards; the last is for
  /// all that spans more.
  ReshardOptimum(const Mesh &mesh, std::vector<int64_t> shape,
                 int64_t elementBytes, std::vector<PriceLevel> levels);

  /// The least price, if it is less than `bound`. Digits that are all-reduced
  /// are sliced again only if `mayAllReduceAndSlice`.
  std::optional<int64_t> beats(int64_t bound, const Sharding &from,
                               const Sharding &to, bool mayAllReduceAndSlice);

private:
  using Digits = llvm::SmallVector<int, 8>;
  struct Layout {
    llvm::SmallVector<Digits, 3> dims;
    /// In order.
    Digits unreduced;
    /// Bit set of digits that are not to be sliced, since they were
    /// all-reduced.
    uint64_t reduced = 0;
  };
  using Key = uint64_t;

  void enumerate(Layout &layout, size_t digit);
  Layout layoutOf(const Sharding &sharding) const;
  Key keyOf(const Layout &layout) const;
  Layout layoutAt(Key key) const;
  std::vector<int64_t> classOf(const Layout &layout, size_t level) const;

  int64_t product(const Digits &list) const;
  int64_t localBytes(const Layout &layout) const;
  bool fits(const Layout &layout) const;
  int64_t price(int64_t bytes, const Digits &group) const;

  void expand(const Layout &layout, int64_t price);
  void slices(const Layout &layout, int64_t price);
  void gathers(const Layout &layout, int64_t price);
  void reductions(const Layout &layout, int64_t price);
  void permutes(const Layout &layout, int64_t price);
  void reach(const Layout &layout, int64_t price);
  void reachKey(Key key, int64_t price);

  std::vector<int64_t> shape;
  int64_t elementBytes;
  std::vector<PriceLevel> levels;
  std::vector<AxisRef> digits;
  /// Devices in the smallest block of neighbours along each digit.
  std::vector<int64_t> spans;
  /// By level, the layouts between which a permute of that level leads: the
  /// same number of shards, and outer digits that stay.
  std::vector<std::map<std::vector<int64_t>, std::vector<Key>>> classes;

  // Of one search.
  int64_t bound = 0;
  bool mayAllReduceAndSlice = false;
  llvm::DenseMap<Key, int64_t> best;
  std::set<std::tuple<size_t, std::vector<int64_t>, uint64_t>> permuted;
  using Entry = std::pair<int64_t, Key>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
};

} // namespace weft::sharding

#endif // WEFT_TEST_UNIT_SHARDING_RESHARDOPTIMUM_H
