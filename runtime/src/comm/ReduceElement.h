//===- ReduceElement.h - Two values become one ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How one element is loaded, combined and stored. Host and device compute with
// these functions, so that a reduction has the same bits on both: `constexpr`
// makes them known to nvcc.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_REDUCEELEMENT_H
#define WEFT_RUNTIME_COMM_REDUCEELEMENT_H

#include "weft/runtime/DType.h"

#include <bit>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace weft::runtime {

/// Memory format and accumulator of an element type; by default the same.
template <typename T> struct Element {
  using Stored = T;
  using Accumulator = T;
  static constexpr T load(T value) { return value; }
  static constexpr T store(T value) { return value; }
};
template <> struct Element<BFloat16> {
  using Stored = BFloat16;
  using Accumulator = float;
  static constexpr float load(BFloat16 value) { return toFloat(value); }
  static constexpr BFloat16 store(float value) { return toBFloat16(value); }
};
template <> struct Element<Float16> {
  using Stored = Float16;
  using Accumulator = float;
  static constexpr float load(Float16 value) { return toFloat(value); }
  static constexpr Float16 store(float value) { return toFloat16(value); }
};

struct Add {
  template <typename T> static constexpr T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(
          static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else {
      return a + b;
    }
  }
};

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

/// Of numbers that compare equal only zeros have different bits, and only in
/// the sign: `and` makes it that of +0, `or` that of -0, as in kernels.
template <typename T, typename Join>
constexpr T joinEqual(T a, T b, Join join) {
  if constexpr (std::is_integral_v<T>)
    return a;
  else
    return std::bit_cast<T>(
        join(std::bit_cast<BitsOf<T>>(a), std::bit_cast<BitsOf<T>>(b)));
}

// `b != b`: a NaN in b wins; one in a stays because it compares false.
struct Maximum {
  template <typename T> static constexpr T apply(T a, T b) {
    const T larger = ((b > a) | (b != b)) ? b : a;
    return a == b ? joinEqual(a, b, std::bit_and<>()) : larger;
  }
};
struct Minimum {
  template <typename T> static constexpr T apply(T a, T b) {
    const T smaller = ((b < a) | (b != b)) ? b : a;
    return a == b ? joinEqual(a, b, std::bit_or<>()) : smaller;
  }
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_REDUCEELEMENT_H
