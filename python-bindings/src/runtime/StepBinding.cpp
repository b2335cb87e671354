//===- StepBinding.cpp - Predicted steps ----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"

#include "weft/Simulate/StepReport.h"
#include "weft/runtime/Plan.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace nb = nanobind;

namespace weft::runtime {

namespace {

struct Answer {
  std::string json;
  std::vector<std::string> problems;
};

} // namespace

static Answer simulateStep(const Plan &plan, const std::string &name,
                           const std::string &cluster, double samples,
                           double tokens, const std::string &scaledAxis,
                           const std::vector<int64_t> &scaledSizes,
                           bool records, simulate::Turns turns) {
  const plan::Plan &contents = plan.contents();
  Answer answer;
  const auto machine = simulate::chooseMachine(
      contents, cluster, "named by cluster=", "cluster= names another",
      answer.problems);
  if (!machine)
    return answer;
  const PlanReport facts = makePlanReport(contents);
  const auto entry = std::find_if(
      contents.entries()->begin(), contents.entries()->end(),
      [&](const plan::Entry *each) { return each->name()->str() == name; });
  simulate::StepRequest request{
      contents,
      **entry,
      *std::ranges::find(facts.entries, name, &EntryReport::name),
      *machine,
      samples,
      tokens,
      scaledAxis,
      scaledSizes,
      records};
  request.turns = turns;
  const simulate::StepReport report = simulate::makeStepReport(request);
  answer.problems = report.prediction.problems;
  if (!answer.problems.empty())
    return answer;
  nlohmann::ordered_json json = toJson(report);
  if (records)
    json["recorded"] = recordedToJson(request, report.prediction);
  answer.json =
      json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return answer;
}

/// JSON as shard-sim plan prints it, of one entry, and all that is wrong with
/// what was asked for.
static nb::tuple simulate(const Plan &plan, const std::string &entry,
                          const std::string &cluster, double samples,
                          double tokens, const std::string &scaledAxis,
                          const std::vector<int64_t> &scaledSizes, bool records,
                          std::pair<uint32_t, uint32_t> turns) {
  Answer answer;
  {
    nb::gil_scoped_release unlocked;
    answer = simulateStep(plan, entry, cluster, samples, tokens, scaledAxis,
                          scaledSizes, records, {turns.first, turns.second});
  }
  return nb::make_tuple(answer.json, answer.problems);
}

void bindStep(nb::module_ &m) {
  m.def("simulate", &simulate, nb::arg("plan"), nb::arg("entry"), nb::kw_only(),
        nb::arg("cluster"), nb::arg("samples"), nb::arg("tokens"),
        nb::arg("scaled_axis"), nb::arg("scaled_sizes"), nb::arg("records"),
        nb::arg("turns"));
}

} // namespace weft::runtime
