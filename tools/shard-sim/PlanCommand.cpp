//===- PlanCommand.cpp - shard-sim plan -----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "Files.h"
#include "StepReport.h"

#include "weft/Cost/ClusterFile.h"
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

struct Options {
  std::string file, cluster, entry, trace;
  /// AXIS:SIZE,SIZE,...
  std::string scale;
  double samples = 0, tokens = 0;
  bool printsJson = false;
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

/// The entries to predict, or none after a message.
std::vector<const plan::Entry *> findEntries(const plan::Plan &plan,
                                             const Options &options) {
  std::vector<const plan::Entry *> entries;
  std::vector<std::string> names;
  for (const plan::Entry *entry : *plan.entries()) {
    if (entry->role())
      continue;
    names.push_back(entry->name()->str());
    if (options.entry.empty() || names.back() == options.entry)
      entries.push_back(entry);
  }
  if (entries.empty())
    report(exitBadInput,
           {options.entry.empty()
                ? options.file + ": the plan has no entries"
                : fmt::format("{}: the plan has no entry \"{}\"; it has {}",
                              options.file, options.entry,
                              fmt::join(names, ", "))});
  if (entries.size() > 1 && !options.trace.empty()) {
    report(exitBadInput, {fmt::format("--trace needs --entry: the plan has {}",
                                      fmt::join(names, ", "))});
    entries.clear();
  }
  return entries;
}

int fail(const Options &options, const Prediction &prediction) {
  std::vector<std::string> messages;
  for (const std::string &problem : prediction.problems)
    messages.push_back(
        fmt::format("{}: {}: {}", options.file, prediction.entry, problem));
  return report(exitBadInput, messages);
}

int writeTrace(const Options &options, const plan::Plan &plan,
               const Prediction &prediction) {
  if (!prediction.hasAllEvents)
    fmt::print(stderr,
               "shard-sim: warning: the trace lacks the end of what has more "
               "events than it can hold\n");
  return writeFile(options.trace, printTrace(plan, prediction));
}

/// Fills in the table of --scale.
int addScale(const Options &options, const plan::Plan &plan,
             const plan::Entry &entry, StepReport &out) {
  if (options.scale.empty())
    return exitSuccess;
  const std::optional<Scale> scale = readScale(options.scale);
  if (!scale)
    return report(exitBadInput,
                  {fmt::format("--scale must be AXIS:SIZE,SIZE,... with sizes "
                               "from 1 to 1073741824, got \"{}\"",
                               options.scale)});
  out.scaledAxis = scale->axis;
  for (int64_t size : scale->sizes) {
    const Prediction scaled =
        predict(plan, entry, out.cost, {{{scale->axis, size}}, false});
    if (!scaled.problems.empty())
      return fail(options, scaled);
    out.scale.push_back(makeScaleRow(scaled, scale->axis, out.prediction.step));
  }
  return exitSuccess;
}

/// What all entries have in common.
struct Machine {
  const cost::CostModel &cost;
  std::string reason;
};

/// Prints an entry, or adds it to `json`.
int predictEntry(const Options &options, const plan::Plan &plan,
                 const plan::Entry &entry, const PlanReport &facts,
                 const Machine &machine, nlohmann::ordered_json &json) {
  Prediction prediction =
      predict(plan, entry, machine.cost, {{}, !options.trace.empty()});
  if (!prediction.problems.empty())
    return fail(options, prediction);
  const auto fact =
      std::ranges::find(facts.entries, entry.name()->str(), &EntryReport::name);
  const size_t role = fact->largestRole();
  StepReport out{machine.cost,
                 machine.reason,
                 std::move(prediction),
                 fact->memory[role],
                 role,
                 options.samples,
                 options.tokens,
                 {},
                 {}};
  int code = addScale(options, plan, entry, out);
  if (code == exitSuccess && !options.trace.empty())
    code = writeTrace(options, plan, out.prediction);
  if (code == exitSuccess && options.printsJson)
    json.push_back(toJson(out));
  else if (code == exitSuccess)
    fmt::print("{}", printText(out));
  return code;
}

int runPlan(const Options &options) {
  runtime::Result<runtime::Plan> loaded = runtime::Plan::load(options.file);
  if (!loaded.ok())
    return report(exitBadInput, {loaded.status().message()});
  const plan::Plan &plan = loaded->contents();
  const std::string target = plan.target()->kind()->str();
  const bool isNamed = !options.cluster.empty();
  cost::ParsedCluster parsed =
      cost::loadCluster(isNamed           ? options.cluster
                        : target == "cpu" ? "cpu-2core"
                                          : std::string(cost::defaultCluster));
  if (!parsed.cluster)
    return report(exitBadInput, parsed.problems);
  const std::vector<const plan::Entry *> entries = findEntries(plan, options);
  if (entries.empty())
    return exitBadInput;
  const cost::CostModel cost(std::move(*parsed.cluster));
  const Machine machine{cost, isNamed ? "named by --cluster"
                                      : "the default of plans for " + target +
                                            "; --cluster names another"};
  const PlanReport facts = makePlanReport(plan);
  auto json = nlohmann::ordered_json::array();
  for (const plan::Entry *entry : entries) {
    if (!options.printsJson && entry != entries.front())
      fmt::print("\n");
    if (const int code =
            predictEntry(options, plan, *entry, facts, machine, json);
        code != exitSuccess)
      return code;
  }
  if (options.printsJson)
    fmt::print("{}\n", json.dump(2, ' ', false,
                                 nlohmann::json::error_handler_t::replace));
  return exitSuccess;
}

} // namespace

ScaleRow makeScaleRow(const Prediction &prediction, const std::string &axis,
                      Picoseconds planned) {
  ScaleRow row;
  row.size =
      std::ranges::find(prediction.mesh, axis, &cost::MeshAxis::name)->size;
  row.devices = prediction.devices();
  row.step = prediction.step;
  const Usage total = prediction.total();
  const auto roles = static_cast<int64_t>(prediction.roles.size());
  for (const Communication &each : total.communication) {
    row.communication += each.total / roles;
    row.exposed += each.exposed / roles;
  }
  if (row.step > 0)
    row.efficiency =
        static_cast<double>(planned) / static_cast<double>(row.step);
  return row;
}

void addPlanCommand(CLI::App &app, Command &chosen) {
  CLI::App *command = app.add_subcommand(
      "plan", "Predict the step time and the memory of a plan on a cluster; "
              "\"shard-sim FILE.plan\" does the same");
  auto options = std::make_shared<Options>();
  command->add_option("plan", options->file, "A plan")->required();
  command->add_option("--cluster", options->cluster,
                      "The machines: a name that shard-sim cluster lists, or a "
                      "file. Default: dgx-h100 for cuda, else cpu-2core");
  command->add_option("--entry", options->entry,
                      "Predict this entry only, instead of all");
  command
      ->add_option("--samples", options->samples,
                   "Samples of a step, to print how many there are a second")
      ->check(CLI::Range(0.0, 1e18));
  command
      ->add_option("--tokens", options->tokens,
                   "Tokens of a step, to print how many there are a second")
      ->check(CLI::Range(0.0, 1e18));
  command->add_option(
      "--scale", options->scale,
      "Weak scaling, as in data:8,16,32: the step with these sizes of a mesh "
      "axis. Assumed: a rank keeps the work, the memory traffic and the "
      "arrays that it has in the plan (of gathers and reduce-scatters the "
      "whole one, not the shard), so that only collectives along the axis, and "
      "where the groups of other axes lie, change. Not the axis of a pipeline");
  command->add_option("--trace", options->trace,
                      "Write the predicted step for Perfetto or "
                      "chrome://tracing (JSON)");
  command->add_flag("--json", options->printsJson,
                    "Print JSON instead of tables");
  command->callback(
      [options, &chosen] { chosen = [options] { return runPlan(*options); }; });
}

} // namespace weft::tools
