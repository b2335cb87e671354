//===- Bytes.cpp - Numbers of bytes as text -------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/Bytes.h"

#include <cstdio>
#include <iterator>

namespace weft {

template <typename... Args>
static std::string format(const char *pattern, Args... args) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, args...);
  return text;
}

std::string printBytes(uint64_t bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = bytes;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  if (unit == 0)
    return std::to_string(bytes) + " B";
  return format(value < 10    ? "%.2f "
                : value < 100 ? "%.1f "
                              : "%.0f ",
                value) +
         units[unit];
}

std::string exactBytes(uint64_t bytes) {
  std::string number = std::to_string(bytes) + " bytes";
  return bytes < 1024 ? number : printBytes(bytes) + " (" + number + ")";
}

} // namespace weft
