//===- shard-sim.cpp - Predicts and draws ---------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   shard-sim plan step.plan --cluster=dgx-h100
//   shard-sim sweep a.plan b.plan --cluster=dgx-h100
//   shard-sim cluster dgx-h100
//   shard-sim schedule --name=zb-v --ranks=4 --microbatches=8
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include "Files.h"

#include "weft/runtime/PlanFormat.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <system_error>
#include <vector>

using namespace weft::tools;

static int run(const Command &command) {
  int code = exitFailed;
  try {
    code = command();
  } catch (const std::bad_alloc &) {
    return report(exitFailed, {"out of memory"});
  } catch (const std::system_error &) { // of fmt::print
    return report(exitFailed, {"cannot write to standard output"});
  }
  const bool isWritten = std::fflush(stdout) == 0 && !std::ferror(stdout);
  if (!isWritten && code == exitSuccess)
    return report(exitFailed, {"cannot write to standard output"});
  return code;
}

/// Plans without a command are predicted, or ranked with --sweep.
static void nameCommand(std::vector<std::string> &arguments) {
  const auto isPlan = [](const std::string &text) {
    return text.ends_with(".plan");
  };
  if (arguments.empty() ||
      !(isPlan(arguments.front()) || arguments.front().starts_with("--")))
    return;
  const bool sweeps = std::erase(arguments, "--sweep") > 0;
  if (sweeps || isPlan(arguments.front()))
    arguments.insert(arguments.begin(), sweeps ? "sweep" : "plan");
}

int main(int argc, char **argv) {
  CLI::App app(
      "Predicts the step time and the memory of plans, and ranks several of a\n"
      "step; prices kernels and collectives on described clusters; draws, "
      "times and checks pipeline\n"
      "schedules.\n"
      "Exit status: 0 success, 1 failure, 2 bad input.",
      "shard-sim");
  app.set_version_flag("--version",
                       fmt::format("Weft {}, plan format {}", WEFT_VERSION,
                                   weft::runtime::planFormatVersion));
  app.require_subcommand(1);
  Command chosen;
  addPlanCommand(app, chosen);
  addSweepCommand(app, chosen);
  addClusterCommand(app, chosen);
  addScheduleCommand(app, chosen);
  addTransfersCommand(app, chosen);
  addCheckCommand(app, chosen);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  nameCommand(arguments);
  std::ranges::reverse(arguments); // as CLI11 takes them
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? exitSuccess : exitBadInput;
  }
  return run(chosen);
}
