//===- CheckCount.cpp - Numbers that say how many ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckCount.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
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

std::string checkAmount(const std::string &text) {
  double value = 0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop == end && error == std::errc() && std::isfinite(value) && value >= 0)
    return "";
  return fmt::format("must be a finite number of at least 0, got \"{}\"", text);
}

} // namespace weft::tools
