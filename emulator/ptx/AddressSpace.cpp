//===- AddressSpace.cpp - The memory that kernels may touch ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AddressSpace.h"

#include <algorithm>
#include <cstdio>

namespace weft::emulator {

AddressSpace::AddressSpace(std::vector<Range> list) : ranges(std::move(list)) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
}

/// The last range that does not begin behind `address`.
static const Range *before(const std::vector<Range> &ranges, uint64_t address) {
  auto above = std::upper_bound(
      ranges.begin(), ranges.end(), address,
      [](uint64_t value, const Range &range) { return value < range.begin; });
  return above == ranges.begin() ? nullptr : &above[-1];
}

const Range *AddressSpace::find(uint64_t address, uint64_t bytes) const {
  const Range *range = before(ranges, address);
  return range && range->contains(address, bytes) ? range : nullptr;
}

static std::string hexadecimal(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

std::string AddressSpace::describe(uint64_t address) const {
  const Range *below = before(ranges, address);
  const Range *above = below ? below + 1 : ranges.data();
  if (above == ranges.data() + ranges.size())
    above = nullptr;
  bool isBelow =
      below && (!above || address - below->end <= above->begin - address);
  const Range *nearest = isBelow ? below : above;
  if (!nearest)
    return "there is no allocation";
  uint64_t distance = isBelow ? address - below->end : nearest->begin - address;
  // Addresses that are far from every allocation come from nowhere near one.
  if (isBelow && address < below->end)
    return "byte " + std::to_string(address - below->begin) +
           " of an allocation of " + std::to_string(below->end - below->begin) +
           " bytes at " + hexadecimal(below->begin);
  return std::to_string(distance) + " bytes " +
         (isBelow ? "behind the end" : "before the begin") +
         " of an allocation of " +
         std::to_string(nearest->end - nearest->begin) + " bytes at " +
         hexadecimal(nearest->begin);
}

} // namespace weft::emulator
