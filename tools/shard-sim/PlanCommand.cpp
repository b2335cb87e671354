//===- PlanCommand.cpp - shard-sim plan -----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "CheckCount.h"
#include "Files.h"
#include "StepOptions.h"
#include "StepPrint.h"

#include "weft/runtime/Plan.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <memory>

using namespace weft::simulate;

namespace weft::tools {
namespace {

struct PlanOptions : StepOptions {
  std::string file, trace, measured;
  /// AXIS:SIZE,SIZE,...
  std::string scale;
  /// Plans of the same step for strong scaling.
  std::vector<std::string> strong;
  int64_t ranksPerRole = 1;
};

struct Scale {
  std::string axis;
  std::vector<int64_t> sizes;
};

/// "data:8,16".
std::optional<Scale> readScale(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0)
    return std::nullopt;
  Scale scale{std::string(text.substr(0, colon)), {}};
  constexpr int64_t most = int64_t(1) << 30;
  for (const char *at = text.data() + colon;;) {
    int64_t size = 0;
    const char *end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(at + 1, end, size);
    if (error != std::errc() || size < 1 || size > most)
      return std::nullopt;
    scale.sizes.push_back(size);
    if (stop == end)
      return scale;
    if (*stop != ',')
      return std::nullopt;
    at = stop;
  }
}

/// Whether --trace and --measured, which are of one entry, have one.
bool hasOneEntry(const PlanOptions &options,
                 const std::vector<const plan::Entry *> &entries,
                 std::vector<std::string> &problems) {
  const bool isOfOne = !options.trace.empty() || !options.measured.empty();
  if (entries.size() <= 1 || !isOfOne)
    return true;
  std::vector<std::string> names;
  for (const plan::Entry *entry : entries)
    names.push_back(entry->name()->str());
  problems.push_back(
      fmt::format("{} needs --entry: the plan has {}",
                  options.trace.empty() ? "--measured" : "--trace",
                  fmt::join(names, ", ")));
  return false;
}

int fail(const PlanOptions &options, const Prediction &prediction) {
  std::vector<std::string> messages;
  for (const std::string &problem : prediction.problems)
    messages.push_back(
        fmt::format("{}: {}: {}", options.file, prediction.entry, problem));
  return report(exitBadInput, messages);
}

int writeTrace(const PlanOptions &options, const plan::Plan &plan,
               const Prediction &prediction, const MeasuredTrace *measured) {
  bool isWhole = true;
  for (size_t role = 0; role < prediction.roles.size(); ++role)
    isWhole &= prediction.hasAllEvents(role);
  if (!isWhole)
    fmt::print(stderr,
               "shard-sim: warning: the trace lacks the end of what has more "
               "events than it can hold\n");
  return writeFile(options.trace, printTrace(plan, prediction, measured));
}

/// Reads the trace of --measured, if there is one; false after a message.
bool readMeasured(const PlanOptions &options, const runtime::Plan &plan,
                  const plan::Entry &entry,
                  std::optional<MeasuredTrace> &measured) {
  if (options.measured.empty())
    return true;
  const std::optional<std::string> text = readFile(options.measured);
  if (!text)
    return false;
  measured = readMeasuredTrace(*text, options.measured, plan, entry);
  if (!measured->problem.empty())
    report(exitBadInput, {measured->problem});
  else if (!measured->hasHash)
    fmt::print(stderr,
               "shard-sim: warning: {}: no hash of its plan, so it may be the "
               "trace of another plan with the same steps; shard-run --trace "
               "writes it\n",
               options.measured);
  return measured->problem.empty();
}

/// Prints an entry, or adds it to `json`.
int predictEntry(const PlanOptions &options, const runtime::Plan &plan,
                 const StepRequest &request, nlohmann::ordered_json &json) {
  const StepReport out = makeStepReport(request);
  if (!out.prediction.problems.empty())
    return fail(options, out.prediction);
  std::optional<MeasuredTrace> measured;
  if (!readMeasured(options, plan, request.entry, measured))
    return exitBadInput;
  if (!options.trace.empty())
    if (const int code = writeTrace(options, request.plan, out.prediction,
                                    measured ? &*measured : nullptr);
        code != exitSuccess)
      return code;
  if (options.printsJson) {
    json.push_back(toJson(out));
    if (measured)
      json.back()["measured"] = measuredJson(out.prediction, *measured);
    return exitSuccess;
  }
  fmt::print("{}", printText(out));
  if (measured)
    fmt::print("{}", printMeasured(out.prediction, *measured));
  return exitSuccess;
}

int runPlan(const PlanOptions &options) {
  runtime::Result<runtime::Plan> loaded = runtime::Plan::load(options.file);
  if (!loaded.ok())
    return report(exitBadInput, {loaded.status().message()});
  const plan::Plan &plan = loaded->contents();
  std::vector<std::string> problems;
  const std::optional<Machine> machine = options.machineFor(plan, problems);
  const std::vector<const plan::Entry *> entries =
      options.entriesOf(plan, options.file, problems);
  if (!machine || entries.empty() || !hasOneEntry(options, entries, problems))
    return report(exitBadInput, problems);
  std::optional<Scale> scale;
  if (!options.scale.empty() && !(scale = readScale(options.scale)))
    return report(exitBadInput,
                  {fmt::format("--scale must be AXIS:SIZE,SIZE,... with sizes "
                               "from 1 to 1073741824, got \"{}\"",
                               options.scale)});
  std::vector<runtime::Plan> others;
  for (const std::string &file : options.strong) {
    runtime::Result<runtime::Plan> other = runtime::Plan::load(file);
    if (!other.ok())
      return report(exitBadInput, {other.status().message()});
    others.push_back(std::move(*other));
  }
  const PlanReport facts = makePlanReport(plan);
  auto json = nlohmann::ordered_json::array();
  for (const plan::Entry *entry : entries) {
    if (!options.printsJson && entry != entries.front())
      fmt::print("\n");
    StepRequest request{plan,
                        *entry,
                        *std::ranges::find(facts.entries, entry->name()->str(),
                                           &EntryReport::name),
                        *machine,
                        options.samples,
                        options.tokens};
    request.records = !options.trace.empty();
    request.ranksPerRole = options.ranksPerRole;
    for (size_t i = 0; i < others.size(); ++i)
      request.others.push_back({options.strong[i], others[i].contents()});
    if (scale) {
      request.scaledAxis = scale->axis;
      request.scaledSizes = scale->sizes;
    }
    if (const int code = predictEntry(options, *loaded, request, json);
        code != exitSuccess)
      return code;
  }
  if (options.printsJson)
    fmt::print("{}\n", json.dump(2, ' ', false,
                                 nlohmann::json::error_handler_t::replace));
  return exitSuccess;
}

} // namespace

void addPlanCommand(CLI::App &app, Command &chosen) {
  CLI::App *command = app.add_subcommand(
      "plan", "Predict the step time and the memory of a plan on a cluster; "
              "\"shard-sim FILE.plan\" does the same");
  auto options = std::make_shared<PlanOptions>();
  command->add_option("plan", options->file, "A plan")->required();
  options->addTo(*command);
  command->add_option(
      "--scale", options->scale,
      "Weak scaling, as in data:8,16,32: the step with these sizes of a mesh "
      "axis. Assumed: a rank keeps the work, the memory traffic and the "
      "arrays that it has in the plan (of gathers and reduce-scatters the "
      "whole one, not the shard), so that only collectives along the axis, and "
      "where the groups of other axes lie, change. Not the axis of a pipeline");
  command
      ->add_option("--strong", options->strong,
                   "Strong scaling, as in step-64.plan,step-128.plan: plans of "
                   "the same step that are compiled for other meshes (shard-"
                   "compile --mesh), each with its time, its memory, and the "
                   "speed of a device relative to the first plan's. shard-sim "
                   "--sweep ranks them")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--ranks-per-role", options->ranksPerRole,
                   "Also predict up to so many ranks of each role that lie "
                   "differently on the machines, in a node or across nodes: "
                   "for each kind the step as if all ranks lay so. The whole "
                   "step has the group of each axis that lies worst")
      ->check(CLI::Validator(checkCount, ""))
      ->capture_default_str();
  command->add_option("--trace", options->trace,
                      "Write the predicted step for Perfetto or "
                      "chrome://tracing (JSON)");
  command->add_option("--measured", options->measured,
                      "A trace that shard-run wrote of the same plan: print "
                      "where a run spent its time beside the prediction, and "
                      "show it in --trace");
  command->callback(
      [options, &chosen] { chosen = [options] { return runPlan(*options); }; });
}

} // namespace weft::tools
