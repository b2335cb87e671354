//===- CheckCommand.cpp - shard-sim check ---------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "Files.h"
#include "TableOptions.h"

#include "weft/Report/PlanJob.h"
#include "weft/Simulate/DeferredWaits.h"
#include "weft/Timeline/SlotUses.h"
#include "weft/runtime/Plan.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

using namespace weft::timeline;

namespace weft::tools {
namespace {

struct CheckOptions {
  TableOptions table;
  std::string communicators = "directed";
  std::string gradientOrder = "ascending";
  std::string slots = "none";
};

Communicators toCommunicators(std::string_view name) {
  if (name == "one")
    return Communicators::One;
  if (name == "pair")
    return Communicators::RankPair;
  return name == "edge" ? Communicators::Edge : Communicators::DirectedPair;
}

/// Judges every pipeline of a plan by its own queues and slots.
int checkPlan(const std::string &file) {
  runtime::Result<runtime::Plan> loaded = runtime::Plan::load(file);
  if (!loaded.ok())
    return report(exitBadInput, {loaded.status().message()});
  const plan::Plan &plan = loaded->contents();
  bool isSafe = true;
  int pipelines = 0;
  for (const plan::Entry *entry : *plan.entries()) {
    if (!entry->timeline())
      continue;
    const std::string name = file + ":" + entry->name()->str();
    if (const std::string problem = findUnknownStage(plan, *entry);
        !problem.empty())
      return report(exitBadInput, {name + ": " + problem});
    const Verdict verdict =
        check(jobOf(plan, *entry, simulate::waitsForDeferred(plan, *entry)));
    fmt::print("{}: {}", name, print(verdict, name));
    isSafe &= verdict.isSafe();
    ++pipelines;
  }
  if (pipelines == 0)
    return report(exitBadInput, {file + ": the plan has no pipeline"});
  return isSafe ? exitSuccess : exitFailed;
}

int runCheck(const CheckOptions &options) {
  if (options.table.file.ends_with(".plan"))
    return checkPlan(options.table.file);
  const std::optional<Table> table = options.table.read();
  if (!table)
    return exitBadInput;
  Job job = makeJob(*table, toCommunicators(options.communicators),
                    options.table.edgesOf(*table));
  if (options.gradientOrder == "descending")
    for (int32_t i = countUpTo(*table, &Action::microbatch); i-- > 0;)
      job.gradientOrder.push_back(i);
  Verdict verdict = check(job);
  // Only what is safe without them has slots.
  if (verdict.isSafe() && options.slots != "none") {
    const SlotPlan plan = planSlots(*table, options.slots == "rank");
    job.slotUses = plan.uses;
    job.waits = waitsForSlots(*table, plan.uses);
    verdict = check(job);
    fmt::print("slots of each rank: {}\n", fmt::join(plan.counts, ", "));
  }
  fmt::print("{}", print(verdict, options.table.file));
  return verdict.isSafe() ? exitSuccess : exitFailed;
}

} // namespace

void addCheckCommand(CLI::App &app, Command &chosen) {
  CLI::App *command = app.add_subcommand(
      "check",
      "Prove that a table with sends and receives, or the pipeline of "
      "a plan (FILE.plan), cannot deadlock or mix up data; exit with 1 "
      "if it can");
  auto options = std::make_shared<CheckOptions>();
  options->table.addTo(*command);
  command
      ->add_option(
          "--communicators", options->communicators,
          "Which transfers share a communicator, and wait for each "
          "other on it: one (all of them), pair (those between the "
          "same two ranks), directed (those from one rank to "
          "another) or edge (those from one stage to another; of what is "
          "once a step, those from one rank to another)")
      ->check(CLI::IsMember({"one", "pair", "directed", "edge"}))
      ->capture_default_str();
  command
      ->add_option("--gradient-order", options->gradientOrder,
                   "The order of micro-batches in which every stage sums its "
                   "weight gradients: ascending or descending")
      ->check(CLI::IsMember({"ascending", "descending"}))
      ->capture_default_str();
  command
      ->add_option("--slots", options->slots,
                   "Also prove that micro-batches reuse memory safely, with "
                   "slots for each stage (stage) or for all stages of a rank "
                   "(rank). Receives and computation then wait for what used "
                   "their slot before")
      ->check(CLI::IsMember({"none", "stage", "rank"}))
      ->capture_default_str();
  command->callback([options, &chosen] {
    chosen = [options] { return runCheck(*options); };
  });
}

} // namespace weft::tools
