//===- TokenStream.h - Reads tokens one after the other ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_TOKENSTREAM_H
#define WEFT_EMULATOR_PTX_TOKENSTREAM_H

#include "Error.h"
#include "Lexer.h"

#include <string>
#include <string_view>
#include <vector>

namespace weft::emulator {

class TokenStream {
public:
  explicit TokenStream(std::string_view text) : tokens(tokenize(text)) {}

  const Token &peek() const { return tokens[position]; }
  bool atEnd() const { return peek().kind == Token::Kind::End; }
  uint32_t line() const { return peek().line; }
  const Token &next() {
    return atEnd() ? tokens[position] : tokens[position++];
  }

  bool is(std::string_view text) const {
    return peek().kind != Token::Kind::String && peek().text == text;
  }
  bool accept(std::string_view text) {
    if (!is(text))
      return false;
    ++position;
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text))
      fail("expected '" + std::string(text) + "'");
  }
  std::string word() {
    if (peek().kind != Token::Kind::Word)
      fail("expected a name");
    return std::string(next().text);
  }
  uint64_t integer() {
    if (peek().kind != Token::Kind::Integer)
      fail("expected a number");
    return next().value;
  }
  /// Passes over what stands on this line.
  void skipLine() {
    for (uint32_t here = line(); !atEnd() && line() == here;)
      ++position;
  }
  /// Passes over a block in braces.
  void skipBlock() {
    expect("{");
    for (int depth = 1; depth; next()) {
      if (atEnd())
        fail("a block does not end");
      depth += is("{") ? 1 : is("}") ? -1 : 0;
    }
  }
  [[noreturn]] void fail(const std::string &what) const {
    throw PtxError(
        line(),
        what + ", found " +
            (atEnd() ? "the end" : "'" + std::string(peek().text) + "'"));
  }

private:
  std::vector<Token> tokens;
  size_t position = 0;
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_TOKENSTREAM_H
