//===- Lexer.cpp - The tokens of PTX --------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lexer.h"
#include "Error.h"

#include <cctype>

namespace weft::emulator {
namespace {

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    while (skipSpace())
      tokens.push_back(next());
    tokens.push_back({Token::Kind::End, {}, line});
    return tokens;
  }

private:
  char at(size_t index) const { return index < text.size() ? text[index] : 0; }

  static bool isWordStart(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_' ||
           c == '$' || c == '%' || c == '.';
  }
  static bool isWord(char c) {
    return isWordStart(c) || std::isdigit(static_cast<unsigned char>(c));
  }

  /// Skips spaces and comments; false at the end.
  bool skipSpace() {
    while (position < text.size()) {
      char c = text[position];
      if (c == '/' && at(position + 1) == '/') {
        position = std::min(text.find('\n', position), text.size());
      } else if (c == '/' && at(position + 1) == '*') {
        size_t end = text.find("*/", position + 2);
        if (end == text.npos)
          throw PtxError(line, "a comment does not end");
        for (; position < end + 2; ++position)
          line += text[position] == '\n';
      } else if (std::isspace(static_cast<unsigned char>(c)) || c == 0) {
        line += c == '\n';
        ++position;
      } else {
        return true;
      }
    }
    return false;
  }

  Token token(Token::Kind kind, size_t end, uint64_t value = 0) {
    Token result{kind, text.substr(position, end - position), line, value};
    position = end;
    return result;
  }

  Token next() {
    char c = text[position];
    if (c == '"') {
      size_t end = text.find('"', position + 1);
      if (end == text.npos)
        throw PtxError(line, "a string does not end");
      return token(Token::Kind::String, end + 1);
    }
    if (std::isdigit(static_cast<unsigned char>(c)))
      return number();
    if (!isWordStart(c))
      return token(Token::Kind::Mark, position + 1);
    size_t end = position + 1;
    // `L2::128B` is one word, the mark of a label is not part of it.
    while (isWord(at(end)) ||
           (at(end) == ':' && at(end + 1) == ':' && isWord(at(end + 2))))
      end += at(end) == ':' ? 2 : 1;
    return token(Token::Kind::Word, end);
  }

  Token number() {
    size_t end = position, digits = position;
    int base = 10;
    Token::Kind kind = Token::Kind::Integer;
    if (at(position) == '0') {
      char mark = at(position + 1);
      if (mark == 'f' || mark == 'F' || mark == 'd' || mark == 'D') {
        kind = Token::Kind::Float;
        base = 16;
        digits += 2;
        end = digits + (mark == 'f' || mark == 'F' ? 8 : 16);
      } else if (mark == 'x' || mark == 'X') {
        base = 16;
        digits += 2;
      } else if (mark == 'b' || mark == 'B') {
        base = 2;
        digits += 2;
      } else if (std::isdigit(static_cast<unsigned char>(mark))) {
        base = 8;
      }
    }
    if (kind == Token::Kind::Integer)
      for (end = digits; std::isxdigit(static_cast<unsigned char>(at(end)));)
        ++end;
    uint64_t value = 0;
    if (end > text.size() || end == digits)
      throw PtxError(line, "a number does not end");
    for (size_t i = digits; i < end; ++i) {
      char c = static_cast<char>(std::tolower(text[i]));
      int digit = c >= 'a' ? c - 'a' + 10 : c - '0';
      if (digit < 0 || digit >= base)
        throw PtxError(line, "'" + std::string(text.substr(position, 20)) +
                                 "' is no number");
      value = value * base + digit;
    }
    Token result = token(kind, end, value);
    if (kind == Token::Kind::Integer && at(position) == 'U')
      ++position;
    return result;
  }

  std::string_view text;
  size_t position = 0;
  uint32_t line = 1;
};

} // namespace

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).run(); }

} // namespace weft::emulator
