//===- DType.h - Element types of buffers and files -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element types of a plan, with the same numbers as `weft.plan.DType` in
// plan.fbs, and the conversions between float and the two 16-bit formats. All
// conversions to 16 bits round to nearest, ties to even, keep infinities and
// signed zeros, and make every NaN quiet. They are written without loops and
// tables, so that a compiler can vectorise a loop around them.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_DTYPE_H
#define WEFT_RUNTIME_DTYPE_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::runtime {

enum class DType : uint8_t {
  F32 = 0,
  BF16 = 1,
  I32 = 2,
  I64 = 3,
  /// One byte a value, 0 or 1.
  Pred = 4,
  F64 = 5,
  F16 = 6,
  I8 = 7,
  I16 = 8,
};

/// How many element types there are; their numbers are 0 to this minus one.
inline constexpr int dtypeCount = 9;

/// Bytes of one element.
constexpr size_t byteSize(DType dtype) {
  switch (dtype) {
  case DType::F64:
  case DType::I64:
    return 8;
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::BF16:
  case DType::F16:
  case DType::I16:
    return 2;
  case DType::Pred:
  case DType::I8:
    return 1;
  }
  return 0;
}

/// The name in messages: "bf16".
constexpr std::string_view name(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "f32";
  case DType::BF16:
    return "bf16";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  case DType::Pred:
    return "pred";
  case DType::F64:
    return "f64";
  case DType::F16:
    return "f16";
  case DType::I8:
    return "i8";
  case DType::I16:
    return "i16";
  }
  return "unknown";
}

/// True when `dtype` is one of the enumerators (a byte read from a file may
/// not be).
constexpr bool isValid(DType dtype) { return byteSize(dtype) != 0; }

constexpr bool isFloat(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F64 || dtype == DType::BF16 ||
         dtype == DType::F16;
}

/// The upper half of a float: 8 exponent bits, 7 mantissa bits.
struct BFloat16 {
  uint16_t bits = 0;
  friend bool operator==(BFloat16, BFloat16) = default;
};

/// IEEE binary16: 5 exponent bits, 10 mantissa bits.
struct Float16 {
  uint16_t bits = 0;
  friend bool operator==(Float16, Float16) = default;
};

constexpr float toFloat(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

constexpr BFloat16 toBFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40u;
  const bool isNan = (bits & 0x7fffffffu) > 0x7f800000u;
  return {static_cast<uint16_t>(isNan ? quiet : rounded)};
}

constexpr float toFloat(Float16 value) {
  constexpr uint32_t rebias = (127u - 15u) << 23;
  const uint32_t sign = (value.bits & 0x8000u) << 16;
  const uint32_t magnitude = (value.bits & 0x7fffu) << 13;
  const bool isSpecial = magnitude >= (0x1fu << 23); // infinity or NaN
  const bool isSubnormal = magnitude < (1u << 23);   // or zero
  const uint32_t normal = magnitude + (isSpecial ? 2u * rebias : rebias);
  // A subnormal's mantissa under the smallest exponent, less the implicit one.
  const float subnormal =
      std::bit_cast<float>(magnitude + rebias + (1u << 23)) -
      std::bit_cast<float>(rebias + (1u << 23));
  const uint32_t bits =
      isSubnormal ? std::bit_cast<uint32_t>(subnormal) : normal;
  return std::bit_cast<float>(bits | sign);
}

constexpr Float16 toFloat16(float value) {
  constexpr uint32_t rebias = (127u - 15u) << 23;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Below the smallest normal the unit of the result is 2^-24, which is the
  // unit of the floats from 0.5 to 1: the addition rounds.
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
      std::bit_cast<uint32_t>(0.5f);
  const uint32_t normal =
      (magnitude - rebias + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const uint32_t quiet = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result; // rounds to infinity
  result = magnitude > 0x7f800000u ? quiet : result;
  return {static_cast<uint16_t>(result | sign)};
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_DTYPE_H
