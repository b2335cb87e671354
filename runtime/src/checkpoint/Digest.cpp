//===- Digest.cpp - A digest that is the sum of its parts -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/Digest.h"

#include <cstring>

namespace weft::runtime {

/// An odd number for the word `k`. The constants are the fractional parts of
/// the golden ratio and of pi, made odd.
static inline uint64_t weight(uint64_t k) {
  const uint64_t spread = (k + 1) * 0x9e3779b97f4a7c15u;
  return (spread ^ (spread >> 32)) * 0x243f6a8885a308d3u | 1;
}

template <typename Word>
static uint64_t sum(uint64_t first, const std::byte *words, uint64_t count) {
  uint64_t total = 0;
  for (uint64_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, words + i * sizeof(Word), sizeof(Word));
    total += weight(first + i) * word;
  }
  return total;
}

uint64_t digestOfRun(size_t elementBytes, uint64_t first,
                     const std::byte *elements, uint64_t count) {
  switch (elementBytes) {
  case 1:
    return sum<uint8_t>(first, elements, count);
  case 2:
    return sum<uint16_t>(first, elements, count);
  case 4:
    return sum<uint32_t>(first, elements, count);
  default:
    return sum<uint32_t>(2 * first, elements, 2 * count);
  }
}

uint64_t digestOfBox(size_t elementBytes, std::span<const int64_t> extents,
                     const Box &box, const std::byte *memory,
                     const Placement &placed) {
  uint64_t total = 0;
  forEachRun({extents, box.start}, placed, box.extent,
             [&](int64_t first, int64_t inMemory, int64_t count) {
               total += digestOfRun(elementBytes, first,
                                    memory + inMemory * elementBytes, count);
             });
  return total;
}

} // namespace weft::runtime
