//===- Lexer.h - The tokens of PTX ------------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_LEXER_H
#define WEFT_EMULATOR_PTX_LEXER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::emulator {

struct Token {
  enum class Kind : uint8_t {
    /// `add.s32`, `.reg`, `%tid.x`, `$L__BB0_1`: with the dots inside.
    Word,
    /// `12`, `0x1f`, `0f3F800000`: `value` has the bits.
    Integer,
    Float,
    String,
    /// One character.
    Mark,
    End,
  };
  Kind kind;
  std::string_view text;
  uint32_t line;
  uint64_t value = 0;
};

/// The tokens of `text`, the last of kind End. Throws PtxError.
std::vector<Token> tokenize(std::string_view text);

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_LEXER_H
