//===- Measurements.cpp - What --measure adds to a step ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Measurements.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::tools {

using namespace weft::runtime;
using Seconds = std::chrono::duration<double>;

/// How much longer than the others a rank computes that is named, as a part of
/// the step.
static constexpr double stragglerShare = 0.2;

Measurements::Measurements(const Arguments &arguments, const Plan &plan,
                           const EntrySpec &entry)
    : arguments(arguments), ranks(plan.ranks()),
      flops(modelFlops(plan, entry)) {}

std::vector<std::string> Measurements::columns() const {
  if (!arguments.measure)
    return {};
  std::vector<std::string> names{"seconds"};
  if (arguments.tokens != 0)
    names.emplace_back("tokens_per_second");
  if (arguments.peakTeraflops != 0)
    names.emplace_back("mfu");
  for (const char *name : {"exposed_seconds", "resident_bytes", "straggler"})
    names.emplace_back(name);
  for (const char *name : {"seconds", "wait_seconds"})
    for (int64_t rank = 0; rank < ranks; ++rank)
      names.push_back(fmt::format("{}_{}", name, rank));
  return names;
}

static double computeSeconds(const RankUsage &rank) {
  return Seconds(rank.total - rank.waited.value_or(rank.total)).count();
}

static double middleOf(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

int64_t findStraggler(std::span<const RankUsage> usage) {
  const auto slowest = std::ranges::max_element(usage, {}, computeSeconds);
  std::vector<double> others;
  for (const RankUsage &rank : usage)
    if (rank.rank != slowest->rank && rank.role == slowest->role)
      others.push_back(computeSeconds(rank));
  const double least = stragglerShare * Seconds(slowest->total).count();
  const bool isSlower =
      !others.empty() && computeSeconds(*slowest) - middleOf(others) > least;
  return isSlower ? slowest->rank : -1;
}

static std::string digits(double value) { return fmt::format("{:.9g}", value); }

Result<std::vector<std::string>> Measurements::read(const Session &session,
                                                    Seconds step) const {
  if (!arguments.measure)
    return std::vector<std::string>();
  WEFT_ASSIGN_OR_RETURN(const std::vector<RankUsage> usage,
                        session.rankUsage());
  std::vector<std::string> values{digits(step.count())};
  if (arguments.tokens != 0)
    values.push_back(
        digits(static_cast<double>(arguments.tokens) / step.count()));
  if (arguments.peakTeraflops != 0)
    values.push_back(digits(flops / (step.count() * static_cast<double>(ranks) *
                                     1e12 * arguments.peakTeraflops)));
  Seconds waited(0);
  uint64_t resident = 0;
  bool isKnown = true;
  for (const RankUsage &rank : usage) {
    isKnown &= rank.waited.has_value();
    waited += rank.waited.value_or(std::chrono::nanoseconds(0));
    resident = std::max(resident, rank.residentBytes);
  }
  values.push_back(isKnown ? digits(waited.count() / static_cast<double>(ranks))
                           : "");
  values.push_back(fmt::format("{}", resident));
  const int64_t straggler = isKnown ? findStraggler(usage) : -1;
  values.push_back(straggler < 0 ? "" : fmt::format("{}", straggler));
  for (const RankUsage &rank : usage)
    values.push_back(digits(Seconds(rank.total).count()));
  for (const RankUsage &rank : usage)
    values.push_back(rank.waited ? digits(Seconds(*rank.waited).count()) : "");
  return values;
}

} // namespace weft::tools
