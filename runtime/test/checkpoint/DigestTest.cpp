//===- DigestTest.cpp - A digest that is the sum of its parts -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/Digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace weft::runtime {
namespace {

std::vector<std::byte> randomBytes(size_t count) {
  std::mt19937 random(3);
  std::vector<std::byte> bytes(count);
  for (std::byte &byte : bytes)
    byte = static_cast<std::byte>(random());
  return bytes;
}

/// The weights are part of the format.
TEST(Digest, OfOneElementIsItsWeight) {
  const uint32_t one = 1;
  const auto *bytes = reinterpret_cast<const std::byte *>(&one);
  EXPECT_EQ(digestOfRun(4, 0, bytes, 1), 0x5b1fe52dbabd0cc5u);
  EXPECT_EQ(digestOfRun(4, 5, bytes, 1), 0xa53131b44f628553u);
}

TEST(Digest, IsTheSumOfBoxes) {
  const std::vector<int64_t> shape = {5, 7, 4};
  for (size_t bytes : {1, 2, 4, 8}) {
    const std::vector<std::byte> tensor = randomBytes(5 * 7 * 4 * bytes);
    const uint64_t whole = digestOfRun(bytes, 0, tensor.data(), 5 * 7 * 4);
    // Cut at every index of every dimension.
    for (size_t dim = 0; dim < 3; ++dim)
      for (int64_t cut = 0; cut <= shape[dim]; ++cut) {
        Box first = Box::whole(shape), second = first;
        first.extent[dim] = cut;
        second.start[dim] = cut;
        second.extent[dim] -= cut;
        uint64_t sum = 0;
        for (const Box &box : {first, second})
          sum +=
              digestOfBox(bytes, shape, box, tensor.data(), {shape, box.start});
        EXPECT_EQ(sum, whole);
      }
  }
}

TEST(Digest, EveryBitCounts) {
  for (size_t bytes : {1, 2, 4, 8}) {
    std::vector<std::byte> tensor = randomBytes(24 * bytes);
    const uint64_t whole = digestOfRun(bytes, 0, tensor.data(), 24);
    for (size_t bit = 0; bit < 8 * tensor.size(); ++bit) {
      tensor[bit / 8] ^= std::byte(1) << bit % 8;
      EXPECT_NE(digestOfRun(bytes, 0, tensor.data(), 24), whole);
      tensor[bit / 8] ^= std::byte(1) << bit % 8;
    }
  }
}

/// The signs of two elements of 8 bytes, and elements that change places.
TEST(Digest, PairsOfChangesCount) {
  std::vector<std::byte> tensor = randomBytes(16 * 8);
  const uint64_t whole = digestOfRun(8, 0, tensor.data(), 16);
  for (size_t a = 0; a < 16; ++a)
    for (size_t b = 0; b < a; ++b) {
      std::vector<std::byte> changed = tensor;
      changed[8 * a + 7] ^= std::byte(0x80);
      changed[8 * b + 7] ^= std::byte(0x80);
      EXPECT_NE(digestOfRun(8, 0, changed.data(), 16), whole);
      changed = tensor;
      std::swap_ranges(&changed[8 * a], &changed[8 * a] + 8, &changed[8 * b]);
      EXPECT_NE(digestOfRun(8, 0, changed.data(), 16), whole);
    }
}

} // namespace
} // namespace weft::runtime
