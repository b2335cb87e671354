//===- Printable.cpp - Text on one line of a terminal -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Printable.h"

#include <fmt/format.h>

namespace weft::tools {

std::string printable(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are controls too: c2 80 to c2 9f in UTF-8.
    const auto next =
        static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if (byte < 0x20 || byte == 0x7f)
      result += fmt::format("\\x{:02x}", byte);
    else if (byte == 0xc2 && next >= 0x80 && next < 0xa0)
      result += fmt::format("\\xc2\\x{:02x}", next), ++i;
    else
      result += text[i];
  }
  return result;
}

} // namespace weft::tools
