//===- TakeUntil.h - Reads a text up to a separator -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_TIMELINE_TAKEUNTIL_H
#define WEFT_LIB_TIMELINE_TAKEUNTIL_H

#include <string_view>

namespace weft::timeline {

/// Takes what stands before the next `separator` off the text.
inline std::string_view takeUntil(std::string_view &text, char separator) {
  const size_t end = text.find(separator);
  std::string_view taken = text.substr(0, end);
  text = end == std::string_view::npos ? "" : text.substr(end + 1);
  return taken;
}

} // namespace weft::timeline

#endif // WEFT_LIB_TIMELINE_TAKEUNTIL_H
