//===- NumberedText.cpp - Texts that differ in numbers only ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NumberedText.h"

#include <algorithm>
#include <sstream>

namespace weft {

/// How many characters at the begin of a text are a number as the compiler and
/// Python write it: `007` and `-1` are parts of names.
static size_t numberLength(std::string_view text) {
  size_t length = std::min(text.find_first_not_of("0123456789"), text.size());
  bool isNumber = length == 1 || (length > 1 && text[0] != '0');
  return isNumber && length <= 18 ? length : 0;
}

NumberedText::NumberedText(std::string_view text) : pieces(1) {
  while (!text.empty()) {
    size_t bracket = text.find('[');
    size_t begin = bracket == text.npos ? text.size() : bracket + 1;
    pieces.back() += text.substr(0, begin);
    text.remove_prefix(begin);
    size_t length = numberLength(text);
    if (length == 0 || length == text.size() || text[length] != ']')
      continue;
    numbers.push_back(std::stoll(std::string(text.substr(0, length))));
    pieces.emplace_back();
    text.remove_prefix(length);
  }
}

bool NumberedText::add(const NumberedText &other) {
  if (pieces != other.pieces)
    return false;
  std::vector<size_t> differing;
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != other.numbers[i])
      differing.push_back(i);
  if (differing.empty())
    return true;
  auto isFirst = [&](const std::vector<int64_t> &of, size_t i) {
    return of[i] == of[differing.front()];
  };
  if ((!places.empty() && places != differing) ||
      !std::all_of(differing.begin(), differing.end(), [&](size_t i) {
        return isFirst(numbers, i) && isFirst(other.numbers, i);
      }))
    return false;
  places = differing;
  range.insert({numbers[places[0]], other.numbers[places[0]]});
  return true;
}

/// `0..3,7`
static std::string printRange(const std::set<int64_t> &numbers) {
  std::string text;
  for (auto it = numbers.begin(); it != numbers.end();) {
    int64_t first = *it, last = first;
    while (++it != numbers.end() && *it == last + 1)
      last = *it;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first)
      text += ".." + std::to_string(last);
  }
  return text;
}

std::string NumberedText::print() const {
  std::string text = pieces.front();
  for (size_t i = 0; i < numbers.size(); ++i) {
    bool differs = std::find(places.begin(), places.end(), i) != places.end();
    text += (differs ? printRange(range) : std::to_string(numbers[i])) +
            pieces[i + 1];
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
