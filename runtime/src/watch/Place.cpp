//===- Place.cpp - Where a rank is in its program ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "watch/Place.h"

#include "launch/Number.h"

#include <fmt/format.h>

#include <array>

namespace weft::runtime {

std::string encode(const ToldPlace &told) {
  const Place &place = told.place;
  return fmt::format("{} {} {} {} {} {}", static_cast<int>(place.phase),
                     place.run, place.entry, place.begun[0], place.begun[1],
                     told.when);
}

std::optional<ToldPlace> decodePlace(std::string_view text) {
  std::array<int64_t, 6> numbers{};
  for (int64_t &number : numbers) {
    const size_t end = text.find(' ');
    const auto parsed = parseNumber(text.substr(0, end), 0);
    if (!parsed)
      return std::nullopt;
    number = *parsed;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  if (numbers[0] > static_cast<int>(Phase::Gone))
    return std::nullopt;
  return ToldPlace{
      {static_cast<Phase>(numbers[0]),
       static_cast<uint32_t>(numbers[1]),
       static_cast<uint32_t>(numbers[2]),
       {static_cast<uint32_t>(numbers[3]), static_cast<uint32_t>(numbers[4])}},
      numbers[5]};
}

} // namespace weft::runtime
