//===- Progress.cpp - Where a rank is in its program ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "watch/Progress.h"

#include "launch/Number.h"

#include <fmt/format.h>

#include <array>

namespace weft::runtime {

std::string encode(const ReportedProgress &reported) {
  const Progress &progress = reported.progress;
  return fmt::format("{} {} {} {} {} {}", static_cast<int>(progress.state),
                     progress.run, progress.entry, progress.begun[0],
                     progress.begun[1], reported.when);
}

std::optional<ReportedProgress> decodeProgress(std::string_view text) {
  std::array<int64_t, 6> numbers{};
  for (int64_t &number : numbers) {
    const size_t end = text.find(' ');
    const auto parsed = parseNumber(text.substr(0, end), 0);
    if (!parsed)
      return std::nullopt;
    number = *parsed;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  if (numbers[0] > static_cast<int>(RankState::Gone))
    return std::nullopt;
  return ReportedProgress{
      {static_cast<RankState>(numbers[0]),
       static_cast<uint32_t>(numbers[1]),
       static_cast<uint32_t>(numbers[2]),
       {static_cast<uint32_t>(numbers[3]), static_cast<uint32_t>(numbers[4])}},
      numbers[5]};
}

} // namespace weft::runtime
