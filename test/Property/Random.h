//===- Random.h - Reproducible random choices -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A generator whose numbers do not depend on the standard library in use, so
// that a printed seed reproduces a case anywhere.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_PROPERTY_RANDOM_H
#define WEFT_TEST_PROPERTY_RANDOM_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::test {

class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  /// The next 64 random bits (splitmix64).
  uint64_t bits() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// A number of [0, end).
  int64_t below(int64_t end) {
    return static_cast<int64_t>(bits() % static_cast<uint64_t>(end));
  }
  /// A number of [first, last].
  int64_t between(int64_t first, int64_t last) {
    return first + below(last - first + 1);
  }
  bool oneIn(int64_t n) { return below(n) == 0; }
  /// A number of [-1, 1).
  double symmetric() {
    return static_cast<double>(bits() >> 11) * 0x1p-52 - 1.0;
  }
  template <typename T> const T &pick(const std::vector<T> &choices) {
    return choices[static_cast<size_t>(
        below(static_cast<int64_t>(choices.size())))];
  }
  template <typename Range> void shuffle(Range &range) {
    for (size_t i = range.size(); i > 1; --i)
      std::swap(range[i - 1],
                range[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
  }

private:
  uint64_t state;
};

} // namespace weft::test

#endif // WEFT_TEST_PROPERTY_RANDOM_H
