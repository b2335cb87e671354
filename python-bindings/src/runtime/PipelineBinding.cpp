//===- PipelineBinding.cpp - Pipeline schedules ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"

#include "weft/Timeline/Draw.h"
#include "weft/Timeline/TimedSchedule.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace weft::timeline;

/// The schedule, or none, and all that is wrong with what was asked for.
static nb::tuple makeTimed(std::string name, std::optional<std::string> csv,
                           std::string file, int32_t ranks,
                           int32_t microbatches, int32_t chunks,
                           std::string times, double transfer,
                           std::optional<double> memoryLimit) {
  ScheduleAnswer answer;
  {
    nb::gil_scoped_release unlocked;
    answer = makeSchedule({std::move(name),
                           std::move(csv),
                           std::move(file),
                           {ranks, microbatches, chunks},
                           std::move(times),
                           transfer,
                           memoryLimit});
  }
  nb::object schedule = nb::none();
  if (answer.errors.empty())
    schedule = nb::cast(std::move(answer.schedule));
  return nb::make_tuple(schedule, answer.errors);
}

static std::vector<std::string> scheduleNames() {
  std::vector<std::string> names;
  for (const NamedSchedule &schedule : namedSchedules())
    names.emplace_back(schedule.name);
  return names;
}

/// (action, start, end) of each action of a rank.
static nb::list actionsOf(const TimedSchedule &schedule, int32_t rank) {
  nb::list actions;
  const Row &row = schedule.table.rows.at(rank);
  for (size_t i = 0; i < row.size(); ++i) {
    const Interval interval = schedule.timing.rows[rank][i];
    actions.append(nb::make_tuple(print(row[i]), interval.start, interval.end));
  }
  return actions;
}

/// (name, chunks, makespan, peak) of the published schedules that fit.
static nb::list publishedOf(const TimedSchedule &schedule) {
  nb::list published;
  for (const RatedSchedule &one : schedule.published)
    published.append(nb::make_tuple(std::string(one.name), one.chunks,
                                    one.makespan, one.peak));
  return published;
}

void weft::runtime::bindPipeline(nb::module_ &m) {
  using Timed = const TimedSchedule &;
  nb::class_<TimedSchedule>(m, "TimedSchedule")
      .def_ro("name", &TimedSchedule::name)
      .def_ro("lower_bound", &TimedSchedule::lowerBound)
      .def_prop_ro("title", &TimedSchedule::title)
      .def_prop_ro("chunks", &TimedSchedule::chunks)
      .def_prop_ro("ranks", [](Timed s) { return s.table.ranks(); })
      .def_prop_ro("microbatches",
                   [](Timed s) { return s.extent.microbatches; })
      .def_prop_ro("makespan", [](Timed s) { return s.timing.makespan; })
      .def_prop_ro("bubble_fraction",
                   [](Timed s) { return s.timing.bubbleFraction(); })
      .def_prop_ro("csv", [](Timed s) { return printCsv(s.table); })
      .def("busy",
           [](Timed s, int32_t rank) { return s.timing.ranks.at(rank).busy; })
      .def("peak",
           [](Timed s, int32_t rank) { return s.timing.ranks.at(rank).peak; })
      .def("actions", &actionsOf)
      .def("published", &publishedOf)
      .def("draw_text",
           [](Timed s, int32_t width) {
             return drawText(s.table, s.timing, width);
           })
      .def("draw_svg",
           [](Timed s) { return drawSvg(s.table, s.timing, s.title()); });
  m.def("make_schedule", &makeTimed, nb::kw_only(), nb::arg("name"),
        nb::arg("csv").none(), nb::arg("file"), nb::arg("ranks"),
        nb::arg("microbatches"), nb::arg("chunks"), nb::arg("times"),
        nb::arg("transfer"), nb::arg("memory_limit").none());
  m.def("schedule_names", &scheduleNames);
}
