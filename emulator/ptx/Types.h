//===- Types.h - Element types of PTX ---------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_TYPES_H
#define WEFT_EMULATOR_PTX_TYPES_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::emulator {

enum class Type : uint8_t {
  Pred,
  B8,
  B16,
  B32,
  B64,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  U16x2,
  S16x2,
  F16,
  BF16,
  F16x2,
  BF16x2,
  F32x2,
  TF32,
  F32,
  F64,
};

enum class Space : uint8_t {
  Generic,
  Register,
  Global,
  Constant,
  Shared,
  Local,
  Parameter
};

/// The type called `name` (without a dot), if there is one.
std::optional<Type> parseType(std::string_view name);
/// Bytes of a value; a predicate has none of its own and counts as 4.
uint32_t sizeOf(Type type);
bool isSigned(Type type);
bool isFloat(Type type);

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_TYPES_H
