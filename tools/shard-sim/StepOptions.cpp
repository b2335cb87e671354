//===- StepOptions.cpp - What to predict, and on which machine ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepOptions.h"

#include "CheckCount.h"

#include "weft/Cost/ClusterFile.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace weft::simulate;

namespace weft::tools {

void StepOptions::addTo(CLI::App &command) {
  command.add_option(
      "--cluster", cluster,
      "The machines: a name that shard-sim cluster lists, or a "
      "file. Default: cpu-2core for plans for a CPU, else dgx-h100");
  command.add_option("--software", software,
                     "The software that runs it: the name of a profile of "
                     "docs/Cost.md, or a file. Default: that of the cluster "
                     "file, which is Weft unless it says otherwise");
  command.add_option("--entry", entry,
                     "Predict this entry only, instead of all");
  command
      .add_option("--samples", samples,
                  "Samples of a step, to print how many there are a second")
      ->check(CLI::Validator(checkAmount, ""));
  command
      .add_option("--tokens", tokens,
                  "Tokens of a step, to print how many there are a second")
      ->check(CLI::Validator(checkAmount, ""));
  command.add_flag("--json", printsJson, "Print JSON instead of tables");
}

std::optional<Machine>
StepOptions::machineFor(const plan::Plan &plan,
                        std::vector<std::string> &problems) const {
  std::vector<std::string> found;
  std::optional<Machine> machine = chooseMachine(
      plan, cluster, "named by --cluster", "--cluster names another", found);
  bool isKnown = machine.has_value();
  if (!software.empty()) {
    cost::ParsedSoftware parsed = cost::loadSoftware(software);
    isKnown &= parsed.software.has_value();
    found.insert(found.end(), parsed.problems.begin(), parsed.problems.end());
    if (isKnown) {
      cost::Cluster described = machine->cost.cluster();
      described.software = std::move(*parsed.software);
      machine->cost = cost::CostModel(std::move(described));
    }
  }
  if (!isKnown) {
    problems.insert(problems.end(), found.begin(), found.end());
    return std::nullopt;
  }
  const cost::Cluster &used = machine->cost.cluster();
  if (used.software.name != cost::SoftwareProfile().name)
    machine->reason += ", with " + used.software.name;
  return machine;
}

std::vector<const plan::Entry *>
StepOptions::entriesOf(const plan::Plan &plan, const std::string &file,
                       std::vector<std::string> &problems) const {
  std::vector<const plan::Entry *> entries;
  std::vector<std::string> names;
  for (const plan::Entry *each : *plan.entries()) {
    if (each->role())
      continue;
    names.push_back(each->name()->str());
    if (entry.empty() || names.back() == entry)
      entries.push_back(each);
  }
  if (entries.empty())
    problems.push_back(
        entry.empty() ? file + ": the plan has no entries"
                      : fmt::format("{}: the plan has no entry \"{}\"; it has "
                                    "{}",
                                    file, entry, fmt::join(names, ", ")));
  return entries;
}

} // namespace weft::tools
