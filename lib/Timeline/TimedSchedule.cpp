//===- TimedSchedule.cpp - A schedule and its timing ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/TimedSchedule.h"

#include "weft/Timeline/Counted.h"
#include "weft/Timeline/LowerBound.h"
#include "weft/Timeline/StepTimes.h"
#include "weft/Timeline/TableRules.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace weft::timeline {

static std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string TimedSchedule::title() const {
  return name + ", " + counted(table.ranks(), "rank") + ", " +
         counted(extent.microbatches, "micro-batch", "micro-batches") + ", " +
         counted(chunks(), "stage") + " per rank";
}

static std::vector<std::string> findTable(const ScheduleRequest &request,
                                          const Costs &costs,
                                          TimedSchedule &schedule) {
  if (request.name == "auto") {
    AutoSchedule found =
        findFastest({request.size, costs, request.memoryLimit});
    if (!found.error.empty())
      return {found.error};
    schedule.table = std::move(found.table);
    schedule.published = std::move(found.named);
    return {};
  }
  GeneratedTable generated = generate(request.name, request.size);
  if (!generated.error.empty())
    return {generated.error};
  schedule.table = std::move(generated.table);
  return {};
}

static std::vector<std::string> readTable(const ScheduleRequest &request,
                                          TimedSchedule &schedule) {
  ParsedTable parsed = parseCsv(*request.csv, request.file);
  if (!parsed.errors.empty())
    return parsed.errors;
  for (const std::string &problem : findProblems(parsed.table))
    parsed.errors.push_back(request.file + ": " + problem);
  schedule.table = computeOnly(parsed.table);
  return parsed.errors;
}

ScheduleAnswer makeSchedule(const ScheduleRequest &request) {
  ScheduleAnswer answer;
  TimedSchedule &schedule = answer.schedule;
  std::vector<std::string> &errors = answer.errors;
  if (request.csv)
    errors = readTable(request, schedule);
  if (!errors.empty())
    return answer;
  // More ranks than there may be are reported with the other sizes.
  const int32_t ranks = request.csv
                            ? schedule.table.ranks()
                            : std::clamp(request.size.ranks, 1, mostRanks);
  ParsedCosts parsed = parseCosts(request.times, ranks);
  parsed.costs.transfer = request.transfer;
  errors = std::move(parsed.errors);
  if (!(request.transfer >= 0 && request.transfer <= 1e15))
    errors.push_back("transfer must be a time from 0 to 1e15, got " +
                     number(request.transfer));
  if (request.memoryLimit && !(*request.memoryLimit > 0))
    errors.push_back("memory limit must be a number above 0, got " +
                     number(*request.memoryLimit));
  if (errors.empty() && !request.csv)
    errors = findTable(request, parsed.costs, schedule);
  if (!errors.empty())
    return answer;
  schedule.name = request.csv ? request.file : request.name;
  schedule.extent = extentOf(schedule.table);
  schedule.costs = recut(parsed.costs, schedule.extent.stages);
  schedule.timing = *timeTable(schedule.table, schedule.costs);
  const auto &[stages, microbatches, placement, splits] = schedule.extent;
  schedule.lowerBound =
      request.csv || request.name != "auto"
          ? lowerBound(placement, microbatches, schedule.costs, splits)
          : lowerBoundWithin(request.memoryLimit.value_or(
                                 std::numeric_limits<double>::infinity()),
                             placement, microbatches, schedule.costs);
  if (request.memoryLimit &&
      schedule.timing.peak() > *request.memoryLimit + 1e-9)
    errors.push_back(schedule.name + " needs memory for " +
                     number(schedule.timing.peak()) +
                     " activations per rank, more than the limit of " +
                     number(*request.memoryLimit));
  return answer;
}

} // namespace weft::timeline
