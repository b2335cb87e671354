//===- Booleans.cpp - Boolean constants of newer MLIR texts ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Import/Stablehlo.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

/// The number of elements of the type at the begin of a text, if it is a tensor
/// of booleans: `tensor<4x16xi1>`.
static std::optional<uint64_t> countBooleans(StringRef text) {
  if (!text.consume_front("tensor<"))
    return std::nullopt;
  uint64_t count = 1, size;
  while (!text.consumeInteger(10, size)) {
    if (!text.consume_front("x") || size > (uint64_t(1) << 40) / (count + 1))
      return std::nullopt;
    count *= size;
  }
  return text.starts_with("i1>") ? std::optional(count) : std::nullopt;
}

/// The first element is the lowest bit.
static std::string packBits(StringRef bytes) {
  std::string packed((bytes.size() / 2 + 7) / 8, '\0');
  for (size_t i = 0; i < bytes.size() / 2; ++i)
    if (bytes.substr(2 * i, 2) != "00")
      packed[i / 8] |= 1 << i % 8;
  return toHex(packed);
}

std::optional<std::string> weft::packBooleans(StringRef text) {
  constexpr StringRef begin = "dense<\"0x", end = "\"> : ";
  std::optional<std::string> packed;
  for (size_t at = text.find(begin); at != StringRef::npos;
       at = text.find(begin, at)) {
    at += begin.size();
    StringRef digits = text.substr(at).take_while(isHexDigit);
    StringRef rest = text.substr(at + digits.size());
    if (!rest.consume_front(end) || digits.size() % 2 != 0 ||
        countBooleans(rest) != digits.size() / 2)
      continue;
    if (!packed)
      packed = text.str();
    // Blanks keep all else at its line and column.
    std::string bits = packBits(digits) + "\"";
    bits.append(digits.size() + 1 - bits.size(), ' ');
    packed->replace(at, bits.size(), bits);
  }
  return packed;
}
