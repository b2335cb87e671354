//===- NumberedText.h - Texts that differ in numbers only -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_REPORT_NUMBEREDTEXT_H
#define WEFT_LIB_REPORT_NUMBEREDTEXT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

/// A text, or several that differ in whole numbers in brackets only, as those
/// of equal layers do: `blocks[0]['w']` and `blocks[7]['w']` are
/// `blocks[0..7]['w']`.
class NumberedText {
public:
  explicit NumberedText(std::string_view text);

  /// Takes another text in; false if it differs in more than numbers.
  bool add(const NumberedText &other);
  std::string print() const;

private:
  /// What is before, between and behind the numbers.
  std::vector<std::string> pieces;
  /// The least and the greatest number at each place.
  std::vector<std::pair<int64_t, int64_t>> numbers;
};

/// Lines of a text that are alike as one, behind how many there are:
/// `96 x 1.00 KiB: blocks[0..95]['w']`.
std::string joinAlikeLines(const std::string &text);

} // namespace weft

#endif // WEFT_LIB_REPORT_NUMBEREDTEXT_H
