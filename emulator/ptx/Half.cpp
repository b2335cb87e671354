//===- Half.cpp - 16-bit floating point -----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Half.h"

#include <algorithm>
#include <cmath>

namespace weft::emulator {

static double roundToInteger(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  case Rounding::Nearest:
    break;
  }
  return std::nearbyint(value);
}

template <int Mantissa> double toDouble(Float16<Mantissa> value) {
  constexpr int bias = Float16<Mantissa>::exponentBias;
  constexpr int largest = 2 * bias + 1;
  double sign = value.bits & 0x8000 ? -1 : 1;
  int exponent = (value.bits & 0x7fff) >> Mantissa;
  double mantissa = value.bits & ((1 << Mantissa) - 1);
  if (exponent == largest)
    return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - bias - Mantissa);
  return sign *
         std::ldexp(mantissa + (1 << Mantissa), exponent - bias - Mantissa);
}

template <typename Float> Float fromDouble(double value, Rounding rounding) {
  constexpr int bias = Float::exponentBias, mantissa = Float::mantissa;
  constexpr uint16_t infinity = (2 * bias + 1) << mantissa;
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
    return {0x7fff};
  if (std::isinf(value))
    return {static_cast<uint16_t>(sign | infinity)};
  if (value == 0)
    return {sign};
  // In units of the last place, of which subnormal numbers have the smallest.
  int exponent = std::max(std::ilogb(value), 1 - bias) - mantissa;
  double units =
      std::fabs(roundToInteger(std::ldexp(value, -exponent), rounding));
  if (units == 2 << mantissa) {
    units /= 2;
    ++exponent;
  }
  int biased = exponent + mantissa + bias;
  if (biased > 2 * bias) {
    bool down = rounding == Rounding::Zero ||
                rounding == (sign ? Rounding::Up : Rounding::Down);
    return {static_cast<uint16_t>(sign | (down ? infinity - 1 : infinity))};
  }
  auto integer = static_cast<uint16_t>(units);
  if (integer >= 1 << mantissa)
    integer += (biased - 1) << mantissa;
  return {static_cast<uint16_t>(sign | integer)};
}

template double toDouble(Half);
template double toDouble(BFloat);
template Half fromDouble<Half>(double, Rounding);
template BFloat fromDouble<BFloat>(double, Rounding);

} // namespace weft::emulator
