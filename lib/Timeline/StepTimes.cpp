//===- StepTimes.cpp - Times as people write them -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/StepTimes.h"

#include "TakeUntil.h"

#include "weft/Timeline/Counted.h"

#include <array>
#include <charconv>
#include <cmath>

namespace weft::timeline {
namespace {

constexpr std::array<std::string_view, 5> kinds = {"F", "I", "W", "FB", "A"};

class CostParser {
public:
  CostParser(std::string_view text, int32_t ranks) : text(text), ranks(ranks) {}

  ParsedCosts parse() {
    while (!text.empty())
      parseEntry(takeUntil(text, ','));
    const size_t stages = countStages();
    if (!result.errors.empty())
      return std::move(result);
    for (size_t stage = 0; stage < stages; ++stage) {
      const auto valueOf = [&](size_t kind) -> std::optional<double> {
        const std::vector<double> &given = values[kind];
        if (given.empty())
          return std::nullopt;
        return given[given.size() == 1 ? 0 : stage] * scaleOf(kind, stages);
      };
      result.costs.stages.push_back({valueOf(0).value_or(scaleOf(0, stages)),
                                     valueOf(1).value_or(scaleOf(1, stages)),
                                     valueOf(2).value_or(scaleOf(2, stages)),
                                     valueOf(3),
                                     valueOf(4).value_or(scaleOf(4, stages))});
    }
    return std::move(result);
  }

private:
  void fail(const std::string &message) {
    result.errors.push_back("times: " + message);
  }

  void parseEntry(std::string_view entry) {
    const std::string whole(entry);
    const std::string_view name = takeUntil(entry, ':');
    size_t kind = 0;
    while (kind < kinds.size() && kinds[kind] != name)
      ++kind;
    if (kind == kinds.size() || entry.empty())
      return fail("found \"" + whole +
                  "\", expected KIND:TIME, as in F:1, with the kind F, I, W, "
                  "FB or A");
    if (!values[kind].empty())
      return fail("found " + std::string(name) +
                  " more than once, expected one entry a kind");
    while (!entry.empty()) {
      const std::string_view part = takeUntil(entry, '/');
      double value = 0;
      const char *end = part.data() + part.size();
      const auto [stop, error] = std::from_chars(part.data(), end, value);
      if (error != std::errc() || stop != end || !(value >= 0) || value > 1e15)
        return fail("found \"" + std::string(part) + "\" in \"" + whole +
                    "\", expected a number from 0 to 1e15");
      values[kind].push_back(value);
    }
  }

  /// As many as the lists have; with no list one per rank.
  size_t countStages() {
    size_t stages = size_t(ranks);
    size_t listed = 0;
    for (size_t kind = 0; kind < kinds.size(); ++kind) {
      const size_t count = values[kind].size();
      if (count <= 1)
        continue;
      if (count % ranks != 0 || (listed && count != listed))
        fail(std::string(kinds[kind]) + " has " + std::to_string(count) +
             " values, expected 1, or one for each of " +
             (listed ? counted(listed, "stage") : counted(ranks, "rank")));
      else
        stages = listed = count;
    }
    return stages;
  }

  /// What a single value is multiplied by: it is of a rank, which may have
  /// several of the stages that are listed.
  double scaleOf(size_t kind, size_t stages) const {
    return values[kind].size() > 1 ? 1 : double(ranks) / double(stages);
  }

  std::string_view text;
  int32_t ranks;
  std::array<std::vector<double>, kinds.size()> values;
  ParsedCosts result;
};

} // namespace

ParsedCosts parseCosts(std::string_view text, int32_t ranks) {
  return CostParser(text, ranks).parse();
}

} // namespace weft::timeline
