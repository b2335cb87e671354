//===- Bytes.cpp - Bytes, operations and times as text --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/Bytes.h"

#include <cstdio>

namespace weft {

template <typename... Args>
static std::string format(const char *pattern, Args... args) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, args...);
  return text;
}

/// With three digits in the first unit in which there are less than `step`.
template <size_t n>
static std::string scaled(uint64_t number, double step,
                          const char *const (&units)[n]) {
  double value = number;
  size_t unit = 0;
  for (; value >= step && unit + 1 < n; ++unit)
    value /= step;
  const char *pattern = unit == 0     ? "%.0f"
                        : value < 10  ? "%.2f"
                        : value < 100 ? "%.1f"
                                      : "%.0f";
  return format(pattern, value) + units[unit];
}

std::string printBytes(uint64_t bytes) {
  return scaled(bytes, 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
}

std::string printCount(uint64_t count) {
  return scaled(count, 1000, {"", " k", " M", " G", " T", " P"});
}

std::string printSeconds(double seconds) {
  if (seconds < 1e-3)
    return format("%.1f us", seconds * 1e6);
  return seconds < 1 ? format("%.2f ms", seconds * 1e3)
                     : format("%.3f s", seconds);
}

std::string exactBytes(uint64_t bytes) {
  std::string number = std::to_string(bytes) + " bytes";
  return bytes < 1024 ? number : printBytes(bytes) + " (" + number + ")";
}

} // namespace weft
