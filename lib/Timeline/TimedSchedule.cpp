//===- TimedSchedule.cpp - A schedule and its timing ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/TimedSchedule.h"

#include "weft/Timeline/StepTimes.h"
#include "weft/Timeline/TableRules.h"

#include <cmath>
#include <cstdio>

namespace weft::timeline {

static std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string TimedSchedule::title() const {
  const auto count = [](int32_t n, const std::string &one,
                        const std::string &many) {
    return std::to_string(n) + " " + (n == 1 ? one : many);
  };
  return name + ", " + count(table.ranks(), "rank", "ranks") + ", " +
         count(extent.microbatches, "micro-batch", "micro-batches") + ", " +
         count(chunks(), "stage", "stages") + " per rank";
}

/// The table of a request, or what is wrong with it.
static ParsedTable findTable(const ScheduleRequest &request) {
  if (!request.csv) {
    GeneratedTable generated = generate(request.name, request.size);
    if (!generated.error.empty())
      return {{}, {generated.error}};
    return {std::move(generated.table), {}};
  }
  ParsedTable parsed = parseCsv(*request.csv, request.file);
  if (!parsed.errors.empty())
    return parsed;
  parsed.table = computeOnly(parsed.table);
  for (const std::string &problem : findProblems(parsed.table))
    parsed.errors.push_back(request.file + ": " + problem);
  return parsed;
}

ScheduleAnswer makeSchedule(const ScheduleRequest &request) {
  ScheduleAnswer answer;
  TimedSchedule &schedule = answer.schedule;
  ParsedTable table = findTable(request);
  if (!table.errors.empty()) {
    answer.errors = std::move(table.errors);
    return answer;
  }
  schedule.table = std::move(table.table);
  schedule.name = request.csv ? request.file : request.name;
  schedule.extent = extentOf(schedule.table);
  ParsedCosts parsed = parseCosts(request.times, schedule.table.ranks());
  answer.errors = std::move(parsed.errors);
  if (!(request.transfer >= 0 && std::isfinite(request.transfer)))
    answer.errors.push_back("transfer must be a time of at least 0, got " +
                            number(request.transfer));
  if (!answer.errors.empty())
    return answer;
  parsed.costs.transfer = request.transfer;
  schedule.costs = recut(parsed.costs, schedule.extent.stages);
  schedule.timing = *timeTable(schedule.table, schedule.costs);
  schedule.lowerBound =
      lowerBound(schedule.extent.placement, schedule.extent.microbatches,
                 schedule.costs, schedule.extent.splitsBackward);
  if (request.memoryLimit && schedule.timing.peak() > *request.memoryLimit)
    answer.errors.push_back(schedule.name + " needs memory for " +
                            number(schedule.timing.peak()) +
                            " activations per rank, more than the limit of " +
                            number(*request.memoryLimit));
  return answer;
}

} // namespace weft::timeline
