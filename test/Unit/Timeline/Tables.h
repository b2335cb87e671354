//===- Tables.h - What the tests of schedules share -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the tests of schedules share.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_UNIT_TIMELINE_TABLES_H
#define WEFT_TEST_UNIT_TIMELINE_TABLES_H

#include "weft/Timeline/Extent.h"
#include "weft/Timeline/Schedules.h"
#include "weft/Timeline/Timing.h"

#include <gtest/gtest.h>

namespace weft::timeline {

/// A table in CSV that has no mistake.
inline Table tableOf(std::string_view csv) {
  ParsedTable parsed = parseCsv(csv, "table.csv");
  EXPECT_TRUE(parsed.errors.empty()) << parsed.errors.front();
  return parsed.table;
}

inline bool admits(std::string_view name, ScheduleSize size) {
  return generate(name, size).error.empty();
}

inline Table tableOf(std::string_view name, ScheduleSize size) {
  GeneratedTable generated = generate(name, size);
  EXPECT_EQ(generated.error, "");
  return generated.table;
}

/// Times of a rank of which every stage takes the same part.
inline Costs evenCosts(const Table &table, double forward, double inputGradient,
                       double weightGradient, double transfer = 0) {
  Costs costs;
  costs.stages.assign(table.ranks(), {.forward = forward,
                                      .inputGradient = inputGradient,
                                      .weightGradient = weightGradient,
                                      .overlapped = std::nullopt});
  costs.transfer = transfer;
  return recut(costs, extentOf(table).stages);
}

inline Timing timingOf(const Table &table, const Costs &costs) {
  std::optional<Timing> timing = timeTable(table, costs);
  EXPECT_TRUE(timing.has_value()) << printCsv(table);
  return timing.value_or(Timing());
}

/// Calls `test(p, m)` for the sizes over which the published formulas hold.
template <typename Test> void forEachSize(Test &&test) {
  for (int32_t p : {2, 3, 4, 6, 8})
    for (int32_t m = 1; m <= 32; ++m)
      test(p, m);
}

struct Times {
  double forward, inputGradient, weightGradient;
};
/// Calls `test(times)` for times of every order.
template <typename Test> void forEachTimes(Test &&test) {
  for (Times times : {Times{1, 1, 1}, Times{1, 1.5, 0.5}, Times{2, 1, 1},
                      Times{1, 1, 2}, Times{0.7, 0.9, 0.8}})
    test(times);
}

} // namespace weft::timeline

#endif // WEFT_TEST_UNIT_TIMELINE_TABLES_H
