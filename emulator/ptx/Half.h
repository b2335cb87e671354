//===- Half.h - 16-bit floating point ---------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_HALF_H
#define WEFT_EMULATOR_PTX_HALF_H

#include <cstdint>

namespace weft::emulator {

enum class Rounding : uint8_t { Nearest, Zero, Down, Up };

/// A format with 16 bits: `Mantissa` of them behind the point.
template <int Mantissa> struct Float16 {
  static constexpr int mantissa = Mantissa;
  static constexpr int exponentBias = (1 << (14 - Mantissa)) - 1;
  uint16_t bits;
};
using Half = Float16<10>;
using BFloat = Float16<7>;

/// The value, exactly.
template <int Mantissa> double toDouble(Float16<Mantissa> value);
/// The nearest value, or the next in a direction.
template <typename Float> Float fromDouble(double value, Rounding rounding);

extern template double toDouble(Half);
extern template double toDouble(BFloat);
extern template Half fromDouble<Half>(double, Rounding);
extern template BFloat fromDouble<BFloat>(double, Rounding);

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_HALF_H
