//===- Progress.cpp - Where a rank is in its program ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "watch/Progress.h"

#include "launch/Number.h"

#include <fmt/format.h>

namespace weft::runtime {

std::string encode(const ReportedProgress &reported) {
  const Progress &progress = reported.progress;
  std::string text =
      fmt::format("{} {} {} {}", static_cast<int>(progress.state), progress.run,
                  progress.entry, reported.when);
  for (uint32_t begun : progress.begun)
    text += fmt::format(" {}", begun);
  return text;
}

std::optional<ReportedProgress> decodeProgress(std::string_view text) {
  std::vector<int64_t> numbers;
  while (!text.empty()) {
    const size_t end = text.find(' ');
    const auto parsed = parseNumber(text.substr(0, end), 0);
    if (!parsed)
      return std::nullopt;
    numbers.push_back(*parsed);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  constexpr size_t fixed = 4;
  if (numbers.size() < fixed || numbers[0] > static_cast<int>(RankState::Gone))
    return std::nullopt;
  return ReportedProgress{{static_cast<RankState>(numbers[0]),
                           static_cast<uint32_t>(numbers[1]),
                           static_cast<uint32_t>(numbers[2]),
                           {numbers.begin() + fixed, numbers.end()}},
                          numbers[3]};
}

} // namespace weft::runtime
