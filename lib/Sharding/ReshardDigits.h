//===- ReshardDigits.h - A reshard as placements of digits ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The mesh axes of two shardings, cut into digits such that both are lists of
// whole digits. What the two have in common is set aside; what is left is a
// small puzzle: move digits between the ends of lists.
//
// Example, on <["a"=4, "b"=2]>: [{"b", "a"}, {}] -> [{"b"}, {"a":(1)2}]
//   digits   0 = "a":(1)2, 1 = "a":(2)2; "b" stays where it is
//   from     [[0, 1], []]        to [[], [0]]
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SHARDING_RESHARDDIGITS_H
#define WEFT_LIB_SHARDING_RESHARDDIGITS_H

#include "weft/Cost/CollectiveCost.h"
#include "weft/Sharding/Sharding.h"

namespace weft::sharding {

using DigitList = llvm::SmallVector<uint8_t, 6>;

/// Where each digit is. A digit that is nowhere is replicated.
struct DigitLayout {
  llvm::SmallVector<DigitList, 4> dims;
  /// Bit i: the devices along digit i hold partial sums.
  uint32_t unreduced = 0;
  /// Bit i: was all-reduced over digit i, which is not to be sliced then.
  uint32_t reduced = 0;

  bool placesLike(const DigitLayout &other) const {
    return dims == other.dims && unreduced == other.unreduced;
  }
};

/// How finely axes are cut.
enum class DigitCut : uint8_t {
  /// Where one of the shardings ends a sub-axis.
  Coarse,
  /// Also where an axis list of one sharding reaches a size at which the list
  /// of the other, on the same dimension, begins a new axis.
  Aligned,
  /// Into primes.
  Primes,
};

/// Which digits may move.
enum class DigitChoice : uint8_t {
  /// What the two shardings have in common stays.
  Differing,
  /// What they have in common may be moved too, and back.
  All,
};

struct DigitProblem {
  const cost::CollectiveCost *cost = nullptr;
  /// The digits that move, and the spare ones, in mesh order.
  llvm::SmallVector<AxisRef, 8> digits;
  /// How many are mentioned by neither sharding. What the devices along them
  /// hold alike may be split on the way, so that each moves less.
  int numSpares = 0;
  /// Bit i: the target splits no dimension over digit i. Where two of them are
  /// alike, it does not matter which one is where.
  uint32_t placeless = 0;
  /// Of each digit those that do as well as it, and itself, if neither has a
  /// place in the target.
  llvm::SmallVector<uint32_t, 8> alike;
  /// Mesh::span of each.
  llvm::SmallVector<int64_t, 8> spans;
  /// The largest of them for each kind of link, in order.
  llvm::SmallVector<int64_t, 2> linkSpans;
  /// Size of each dimension on a device when no digit splits it.
  Shape room;
  /// Bytes on a device when no digit splits anything.
  int64_t wholeBytes = 0;
  DigitLayout from, to;
  /// What does not move.
  llvm::SmallVector<AxisList, 4> fixed;
  AxisList fixedUnreduced;

  int numMoving() const { return digits.size() - numSpares; }
  int64_t size(uint8_t digit) const { return digits[digit].size; }
  int64_t product(llvm::ArrayRef<uint8_t> list) const;
  /// Product of the digits in a bit set.
  int64_t product(uint32_t set) const;
  /// Span of the groups along digits.
  int64_t span(llvm::ArrayRef<uint8_t> list) const;
  /// `set` with the first only of its digits of each kind without a place.
  uint32_t withoutAlike(uint32_t set) const;
  int64_t localBytes(const DigitLayout &layout) const;
  /// Bit set of the digits that are neither in a dimension nor unreduced.
  uint32_t replicated(const DigitLayout &layout) const;
  /// Bit set of the digits in dimensions.
  uint32_t splitting(const DigitLayout &layout) const;

  AxisList axes(llvm::ArrayRef<uint8_t> list) const;
  AxisList axes(uint32_t set) const;
  Sharding toSharding(const DigitLayout &layout, Reduction reduction) const;
};

DigitList digitsOf(uint32_t set);
uint32_t setOf(llvm::ArrayRef<uint8_t> list);

/// Mesh axes that `from` and `to` cut in ways that no common list of digits
/// can spell, such as "a":(1)2 and "a":(1)3 of an axis of size 6.
llvm::SmallVector<int32_t, 2> findClashingAxes(const Sharding &from,
                                               const Sharding &to);

/// The puzzle of a reshard between shardings that divide the shape and have no
/// clashing axes. Spare digits are added as long as there are no more than
/// `maxDigitsWithSpares` in all. None if more than `maxDigits` digits move.
inline constexpr size_t maxDigitsWithSpares = 8;
inline constexpr size_t maxDigits = 30;
std::optional<DigitProblem>
makeDigitProblem(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                 int64_t elementBytes, const Sharding &from, const Sharding &to,
                 const cost::CollectiveCost &cost, DigitCut cut,
                 DigitChoice choice);

} // namespace weft::sharding

#endif // WEFT_LIB_SHARDING_RESHARDDIGITS_H
