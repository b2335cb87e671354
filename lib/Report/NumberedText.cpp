//===- NumberedText.cpp - Texts that differ in numbers only ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NumberedText.h"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace weft {

NumberedText::NumberedText(std::string_view text) : pieces(1) {
  while (!text.empty()) {
    size_t bracket = text.find('[');
    size_t begin = bracket == text.npos ? text.size() : bracket + 1;
    pieces.back() += text.substr(0, begin);
    text.remove_prefix(begin);
    int64_t number;
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number);
    size_t length = end - text.data();
    if (error != std::errc() || length == text.size() || *end != ']')
      continue;
    numbers.push_back({number, number});
    pieces.emplace_back();
    text.remove_prefix(length);
  }
}

bool NumberedText::add(const NumberedText &other) {
  if (pieces != other.pieces)
    return false;
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i].first = std::min(numbers[i].first, other.numbers[i].first);
    numbers[i].second = std::max(numbers[i].second, other.numbers[i].second);
  }
  return true;
}

std::string NumberedText::print() const {
  std::string text = pieces.front();
  for (size_t i = 0; i < numbers.size(); ++i) {
    auto [first, last] = numbers[i];
    text += std::to_string(first);
    if (first != last)
      text += ".." + std::to_string(last);
    text += pieces[i + 1];
  }
  return text;
}

std::string joinAlikeLines(const std::string &text) {
  std::vector<std::pair<NumberedText, size_t>> groups;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    NumberedText numbered(line);
    auto alike = std::find_if(groups.begin(), groups.end(), [&](auto &group) {
      return group.first.add(numbered);
    });
    if (alike == groups.end())
      groups.push_back({std::move(numbered), 1});
    else
      ++alike->second;
  }
  std::string joined;
  for (const auto &[numbered, count] : groups)
    joined += (joined.empty() ? "" : "\n") +
              (count == 1 ? "" : std::to_string(count) + " x ") +
              numbered.print();
  return joined;
}

} // namespace weft
