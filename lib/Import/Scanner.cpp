//===- Scanner.cpp - Reads the text of opaque attributes ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scanner.h"

#include "llvm/ADT/StringExtras.h"

using namespace weft::stablehlo;

bool Scanner::consume(llvm::StringRef token) {
  rest = rest.ltrim();
  return rest.consume_front(token);
}

bool Scanner::atEnd() {
  rest = rest.ltrim();
  return rest.empty();
}

std::optional<llvm::StringRef> Scanner::word() {
  rest = rest.ltrim();
  llvm::StringRef word =
      rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
  if (word.empty())
    return std::nullopt;
  rest = rest.drop_front(word.size());
  return word;
}

std::optional<int64_t> Scanner::integer() {
  rest = rest.ltrim();
  int64_t value;
  if (rest.consumeInteger(10, value))
    return std::nullopt;
  return value;
}

std::optional<llvm::SmallVector<int64_t>> Scanner::integers() {
  llvm::SmallVector<int64_t> values;
  if (!consume("["))
    return std::nullopt;
  if (consume("]"))
    return values;
  do {
    std::optional<int64_t> value = integer();
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  } while (consume(","));
  if (!consume("]"))
    return std::nullopt;
  return values;
}

/// `\22` is a character by its number, `\\` and `\"` stand for themselves.
std::optional<std::string> Scanner::string() {
  if (!consume("\""))
    return std::nullopt;
  std::string text;
  while (!rest.empty() && rest.front() != '"') {
    char c = rest.front();
    rest = rest.drop_front();
    if (c == '\\') {
      uint8_t code;
      if (rest.size() >= 2 && !rest.take_front(2).getAsInteger(16, code)) {
        c = static_cast<char>(code);
        rest = rest.drop_front(2);
      } else if (!rest.empty()) {
        c = rest.front();
        rest = rest.drop_front();
      }
    }
    text.push_back(c);
  }
  if (!rest.consume_front("\""))
    return std::nullopt;
  return text;
}
