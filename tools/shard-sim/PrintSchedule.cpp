//===- PrintSchedule.cpp - The output of shard-sim schedule ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrintSchedule.h"

#include "weft/Timeline/Draw.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace weft::timeline;

namespace weft::tools {

/// What the search is measured against.
static std::string printPublished(const TimedSchedule &schedule) {
  std::string text;
  const char *label = "best published";
  for (const RatedSchedule &one : schedule.published) {
    if (text.size() > 0)
      label = "next";
    text += fmt::format("{:<15} {}, {} {} per rank: makespan {:.6g} ({:.3f}x), "
                        "peak memory {:.6g}\n",
                        label, one.name, one.chunks,
                        one.chunks == 1 ? "stage" : "stages", one.makespan,
                        schedule.timing.makespan > 0
                            ? one.makespan / schedule.timing.makespan
                            : 1,
                        one.peak);
    if (label[0] == 'n')
      break;
  }
  return text;
}

static std::string printText(const TimedSchedule &schedule) {
  const Timing &timing = schedule.timing;
  std::string text = schedule.title() + "\n\n";
  text += fmt::format("makespan      {:.6g}\n", timing.makespan);
  text += fmt::format(
      "lower bound   {:.6g} (makespan is {:.3f}x)\n", schedule.lowerBound,
      schedule.lowerBound > 0 ? timing.makespan / schedule.lowerBound : 1);
  text += fmt::format("bubble        {:.1f} % of the makespan\n",
                      100 * timing.bubbleFraction());
  text += fmt::format("peak memory   {:.6g} (1: the activations of one "
                      "micro-batch in all stages of a rank)\n",
                      timing.peak());
  text += printPublished(schedule);
  text += fmt::format("\n{:>4}  {:>10}  {:>10}  {:>10}  {:>10}\n", "rank",
                      "busy", "bubble", "waits", "peak");
  for (int32_t rank = 0; rank < schedule.table.ranks(); ++rank) {
    const RankTiming &one = timing.ranks[rank];
    text +=
        fmt::format("{:>4}  {:>10.6g}  {:>10.6g}  {:>10.6g}  {:>10.6g}\n", rank,
                    one.busy, timing.bubble(rank), one.wait(), one.peak);
  }
  text += "\n" + printCsv(schedule.table) + "\n";
  text += drawText(schedule.table, timing);
  return text;
}

static std::string printJson(const TimedSchedule &schedule) {
  using nlohmann::ordered_json;
  const Timing &timing = schedule.timing;
  ordered_json json = {
      {"name", schedule.name},
      {"ranks", schedule.table.ranks()},
      {"microbatches", schedule.extent.microbatches},
      {"chunks", schedule.chunks()},
      {"stages", schedule.extent.stages},
      {"makespan", timing.makespan},
      {"lower_bound", schedule.lowerBound},
      {"bubble_fraction", timing.bubbleFraction()},
      {"peak_activations", timing.peak()},
      {"per_rank", ordered_json::array()},
  };
  for (const RatedSchedule &one : schedule.published)
    json["published"].push_back({{"name", one.name},
                                 {"chunks", one.chunks},
                                 {"makespan", one.makespan},
                                 {"peak_activations", one.peak}});
  for (int32_t rank = 0; rank < schedule.table.ranks(); ++rank) {
    const RankTiming &one = timing.ranks[rank];
    ordered_json actions = ordered_json::array();
    const Row &row = schedule.table.rows[rank];
    for (size_t i = 0; i < row.size(); ++i)
      actions.push_back({{"action", print(row[i])},
                         {"start", timing.rows[rank][i].start},
                         {"end", timing.rows[rank][i].end}});
    json["per_rank"].push_back({{"rank", rank},
                                {"busy", one.busy},
                                {"bubble", timing.bubble(rank)},
                                {"waits", one.wait()},
                                {"peak_activations", one.peak},
                                {"actions", std::move(actions)}});
  }
  // A name that is no UTF-8 is that of a file.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

std::string print(const TimedSchedule &schedule, std::string_view format) {
  if (format == "csv")
    return printCsv(schedule.table);
  if (format == "json")
    return printJson(schedule);
  if (format == "svg")
    return drawSvg(schedule.table, schedule.timing, schedule.title());
  return printText(schedule);
}

} // namespace weft::tools
