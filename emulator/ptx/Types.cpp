//===- Types.cpp - Element types of PTX -----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Types.h"

#include <utility>

namespace weft::emulator {

static constexpr std::pair<std::string_view, Type> names[] = {
    {"pred", Type::Pred},     {"b8", Type::B8},       {"b16", Type::B16},
    {"b32", Type::B32},       {"b64", Type::B64},     {"u8", Type::U8},
    {"u16", Type::U16},       {"u32", Type::U32},     {"u64", Type::U64},
    {"s8", Type::S8},         {"s16", Type::S16},     {"s32", Type::S32},
    {"s64", Type::S64},       {"u16x2", Type::U16x2}, {"s16x2", Type::S16x2},
    {"f16", Type::F16},       {"bf16", Type::BF16},   {"f16x2", Type::F16x2},
    {"bf16x2", Type::BF16x2}, {"f32x2", Type::F32x2}, {"tf32", Type::TF32},
    {"f32", Type::F32},       {"f64", Type::F64},
};

std::optional<Type> parseType(std::string_view name) {
  for (const auto &[text, type] : names)
    if (text == name)
      return type;
  return std::nullopt;
}

uint32_t sizeOf(Type type) {
  switch (type) {
  case Type::B8:
  case Type::U8:
  case Type::S8:
    return 1;
  case Type::B16:
  case Type::U16:
  case Type::S16:
  case Type::F16:
  case Type::BF16:
    return 2;
  case Type::B64:
  case Type::U64:
  case Type::S64:
  case Type::F64:
  case Type::F32x2:
    return 8;
  default:
    return 4;
  }
}

bool isSigned(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32 ||
         type == Type::S64;
}

bool isFloat(Type type) { return type >= Type::F16; }

} // namespace weft::emulator
