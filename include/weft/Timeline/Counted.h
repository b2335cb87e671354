//===- Counted.h - Numbers of things in messages ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_COUNTED_H
#define WEFT_TIMELINE_COUNTED_H

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::timeline {

/// "1 rank", "2 ranks"; with `many` where an "s" does not make the plural:
/// "2 micro-batches".
inline std::string counted(int64_t number, std::string_view one,
                           std::string_view many = "") {
  std::string text = std::to_string(number) + " ";
  if (number == 1)
    return text.append(one);
  return many.empty() ? text.append(one) + "s" : text.append(many);
}

} // namespace weft::timeline

#endif // WEFT_TIMELINE_COUNTED_H
