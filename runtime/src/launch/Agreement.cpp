//===- Agreement.cpp - What all ranks must have alike -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launch/Agreement.h"

#include "launch/Arrival.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace weft::runtime {

static std::vector<std::string> lines(const std::string &text) {
  std::vector<std::string> all;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    all.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

/// "rank 0 has 2.28.9, ranks 1, 2 have 2.27.3"; empty when all have one value.
static std::string difference(const std::vector<std::string> &values) {
  std::vector<std::pair<std::string, std::vector<int>>> sides;
  for (size_t r = 0; r < values.size(); ++r) {
    auto side = std::find_if(sides.begin(), sides.end(), [&](const auto &side) {
      return side.first == values[r];
    });
    if (side == sides.end())
      side = sides.insert(side, {values[r], {}});
    side->second.push_back(static_cast<int>(r));
  }
  if (sides.size() == 1)
    return "";
  std::vector<std::string> texts;
  for (const auto &[value, ranks] : sides)
    texts.push_back(fmt::format("{} {} {}", shortList(ranks),
                                ranks.size() == 1 ? "has" : "have",
                                value.empty() ? "none" : value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

Status agree(Bootstrap &bootstrap, const std::vector<Fact> &facts,
             std::chrono::nanoseconds timeout) {
  std::string mine;
  for (const Fact &fact : facts)
    mine += fact.value + "\n";
  WEFT_ASSIGN_OR_RETURN(
      const std::vector<std::string> all,
      bootstrap.gather("what all must have alike", mine, timeout));
  std::vector<std::vector<std::string>> ofRanks;
  for (const std::string &text : all)
    ofRanks.push_back(lines(text));
  std::vector<std::string> problems;
  for (size_t i = 0; i < facts.size(); ++i) {
    std::vector<std::string> values;
    for (const auto &ofRank : ofRanks)
      values.push_back(i < ofRank.size() ? ofRank[i] : "");
    if (const std::string text = difference(values); !text.empty())
      problems.push_back(fmt::format("{}: {}", facts[i].name, text));
  }
  if (problems.empty())
    return {};
  return failedPrecondition(
      fmt::format("the ranks differ in {}", fmt::join(problems, "; in ")));
}

} // namespace weft::runtime
