//===- CheckCount.cpp - Numbers of at least 1 as arguments ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckCount.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <limits>

namespace weft::tools {

std::string checkCount(const std::string &text) {
  int32_t value = 0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop == end && error == std::errc() && value >= 1)
    return "";
  return fmt::format("must be an integer from 1 to {}, got \"{}\"",
                     std::numeric_limits<int32_t>::max(), text);
}

} // namespace weft::tools
