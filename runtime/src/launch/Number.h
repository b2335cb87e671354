//===- Number.h - Numbers in variables and addresses ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_LAUNCH_NUMBER_H
#define WEFT_RUNTIME_SRC_LAUNCH_NUMBER_H

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace weft::runtime {

/// The decimal number that `text` is, if it is one from `least` to `most`.
inline std::optional<int64_t>
parseNumber(std::string_view text, int64_t least,
            int64_t most = std::numeric_limits<int64_t>::max()) {
  int64_t value = 0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < least || value > most)
    return std::nullopt;
  return value;
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_LAUNCH_NUMBER_H
