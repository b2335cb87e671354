//===- ScheduleCommand.cpp - shard-sim schedule ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "CheckCount.h"
#include "Files.h"
#include "PrintSchedule.h"

#include "weft/Timeline/TimedSchedule.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

using namespace weft::timeline;

namespace weft::tools {
namespace {

struct ScheduleOptions {
  ScheduleRequest request;
  /// Empty: none. A file, or "-".
  std::string table;
  double memoryLimit = 0;
  bool hasMemoryLimit = false;
  bool lists = false;
  std::string format = "text";
};

std::string allNames() {
  std::string names;
  for (const NamedSchedule &schedule : namedSchedules())
    names += (names.empty() ? "" : ", ") + std::string(schedule.name);
  return names;
}

int listSchedules() {
  fmt::print("{:<17} {:<8} {}\n", "name", "actions",
             "what it is, and the "
             "sizes that it admits");
  for (const NamedSchedule &schedule : namedSchedules())
    fmt::print("{:<17} {:<8} {}; {}\n", schedule.name,
               schedule.splitsBackward ? "F, I, W" : "F, B", schedule.summary,
               schedule.admits);
  return exitSuccess;
}

int runSchedule(ScheduleOptions &options) {
  if (options.lists)
    return listSchedules();
  ScheduleRequest &request = options.request;
  const bool hasSize = request.size.ranks != 0 ||
                       request.size.microbatches != 0 ||
                       request.size.chunks != 0;
  if (request.name.empty() == options.table.empty())
    return report(exitBadInput, {"expected one of --name, --table and --list"});
  if (!options.table.empty()) {
    if (hasSize)
      return report(exitBadInput,
                    {"--ranks, --microbatches and --chunks are those of the "
                     "file, expected none of them with --table"});
    request.csv = readFile(options.table);
    if (!request.csv)
      return exitBadInput;
    request.file = options.table;
  } else if (request.size.ranks == 0 || request.size.microbatches == 0) {
    return report(exitBadInput, {"--name needs --ranks and --microbatches"});
  }
  if (options.hasMemoryLimit)
    request.memoryLimit = options.memoryLimit;
  const ScheduleAnswer answer = makeSchedule(request);
  if (!answer.errors.empty())
    return report(exitBadInput, answer.errors);
  fmt::print("{}", print(answer.schedule, options.format));
  return exitSuccess;
}

} // namespace

void addScheduleCommand(CLI::App &app, Command &chosen) {
  CLI::App *command = app.add_subcommand(
      "schedule", "Print a schedule, its timing and a picture of it");
  auto options = std::make_shared<ScheduleOptions>();
  ScheduleRequest &request = options->request;
  request.times = "F:1,I:1,W:1";
  command->add_flag("--list", options->lists,
                    "Print the names of the schedules, and what they admit");
  command->add_option("--name", request.name,
                      "The schedule: " + allNames() +
                          ", or auto for the fastest table that a search "
                          "finds for the times within the memory limit");
  command->add_option("--table", options->table,
                      "Read a table instead: a CSV file in the notation of "
                      "PyTorch, one row a rank, or - for standard input");
  command->add_option("--ranks", request.size.ranks, "Ranks of the pipeline")
      ->check(CLI::Validator(checkCount, ""));
  command
      ->add_option("--microbatches", request.size.microbatches,
                   "Micro-batches of a step")
      ->check(CLI::Validator(checkCount, ""));
  command
      ->add_option(
          "--chunks", request.size.chunks,
          "Stages per rank; default: that of the schedule, of auto what "
          "is faster with one or two")
      ->check(CLI::Validator(checkCount, ""));
  command
      ->add_option("--times", request.times,
                   "Times of a forward (F), an input gradient (I) and a weight "
                   "gradient (W) in all stages of a rank, and optionally of a "
                   "forward that overlaps a backward pass (FB) and the memory "
                   "of activations (A). F:1/1/1/2 has a value for each rank, "
                   "or for each stage")
      ->capture_default_str();
  command
      ->add_option("--transfer", request.transfer,
                   "Time from the end of an action to the start of its "
                   "consumer on another rank")
      ->capture_default_str();
  CLI::Option *limit = command->add_option(
      "--memory-limit", options->memoryLimit,
      "Most activations that a rank may keep; 1 is what one micro-batch needs "
      "in all stages of a rank");
  command
      ->add_option("--format", options->format,
                   "text, csv (the table only), json or svg (the picture only)")
      ->check(CLI::IsMember({"text", "csv", "json", "svg"}))
      ->capture_default_str();
  command->callback([options, limit, &chosen] {
    options->hasMemoryLimit = limit->count() > 0;
    chosen = [options] { return runSchedule(*options); };
  });
}

} // namespace weft::tools
