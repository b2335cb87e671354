//===- SweepCommand.cpp - shard-sim sweep ---------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "Files.h"
#include "StepOptions.h"
#include "StepPrint.h"

#include "weft/runtime/Plan.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

using namespace weft::simulate;

namespace weft::tools {
namespace {

struct SweepOptions : StepOptions {
  std::vector<std::string> files;
};

/// Each once: what is wrong with a plan may be so for all entries.
void add(const std::vector<std::string> &found,
         std::vector<std::string> &problems) {
  for (const std::string &problem : found)
    if (std::ranges::find(problems, problem) == problems.end())
      problems.push_back(problem);
}

int runSweep(const SweepOptions &options) {
  std::vector<std::string> problems;
  if (options.files.size() == 1)
    problems.push_back("a sweep ranks two plans or more, got " +
                       options.files.front() +
                       " alone; shard-sim plan predicts one");
  std::vector<runtime::Plan> loaded;
  std::vector<OtherPlan> plans;
  loaded.reserve(options.files.size()); // `plans` refers to them
  for (const std::string &file : options.files) {
    runtime::Result<runtime::Plan> plan = runtime::Plan::load(file);
    if (!plan.ok()) {
      problems.push_back(plan.status().message());
      continue;
    }
    loaded.push_back(std::move(*plan));
    plans.push_back({file, loaded.back().contents()});
  }
  if (plans.empty())
    return report(exitBadInput, problems);
  const plan::Plan &first = plans.front().plan;
  const std::optional<Machine> machine = options.machineFor(first, problems);
  std::string text;
  auto json = nlohmann::ordered_json::array();
  for (const plan::Entry *entry :
       options.entriesOf(first, plans.front().name, problems)) {
    if (!machine) {
      add(findOtherSteps(plans, *entry), problems);
      continue;
    }
    const SweepRequest request{plans, *entry, *machine, options.samples,
                               options.tokens};
    const Sweep sweep = makeSweep(request);
    add(sweep.problems, problems);
    if (!sweep.problems.empty())
      continue;
    text += (text.empty() ? "" : "\n") + printText(request, sweep);
    json.push_back(toJson(request, sweep));
  }
  if (!problems.empty())
    return report(exitBadInput, problems);
  if (options.printsJson)
    text = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
           "\n";
  fmt::print("{}", text);
  return exitSuccess;
}

} // namespace

void addSweepCommand(CLI::App &app, Command &chosen) {
  CLI::App *command = app.add_subcommand(
      "sweep",
      "Rank plans of one step that were compiled for other meshes, with other "
      "schedules or options: their predicted steps and memory on one cluster, "
      "the best first; \"shard-sim --sweep FILE.plan...\" does the same. "
      "python -m weft.sweep compiles them as well");
  auto options = std::make_shared<SweepOptions>();
  command->add_option("plans", options->files, "Two plans or more")->required();
  options->addTo(*command);
  command->callback([options, &chosen] {
    chosen = [options] { return runSweep(*options); };
  });
}

} // namespace weft::tools
