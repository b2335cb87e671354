//===- NumberedText.h - Texts that differ in numbers only -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_REPORT_NUMBEREDTEXT_H
#define WEFT_LIB_REPORT_NUMBEREDTEXT_H

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// A text, or several that differ in a number in brackets only, as those of
/// equal layers do: `blocks[0]['w']`, `blocks[1]['w']` and `blocks[7]['w']` are
/// `blocks[0..1,7]['w']`. Where a text has the number several times, so have
/// the others.
class NumberedText {
public:
  explicit NumberedText(std::string_view text);

  /// Takes another text in; false if it differs in more than one number.
  bool add(const NumberedText &other);
  std::string print() const;

private:
  /// What is before, between and behind the numbers.
  std::vector<std::string> pieces;
  /// Those of the first text.
  std::vector<int64_t> numbers;
  /// The places at which texts differ, and all numbers there.
  std::vector<size_t> places;
  std::set<int64_t> range;
};

/// Lines of a text that are alike as one, behind how many there are:
/// `96 x 1.00 KiB: blocks[0..95]['w']`.
std::string joinAlikeLines(const std::string &text);

} // namespace weft

#endif // WEFT_LIB_REPORT_NUMBEREDTEXT_H
