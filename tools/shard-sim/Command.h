//===- Command.h - Subcommands of shard-sim ---------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A subcommand adds itself to the command line, and is run if it was chosen:
//
//   int main(int argc, char **argv) {
//     Command chosen;
//     addScheduleCommand(app, chosen);
//     app.parse(argc, argv);
//     return chosen();
//   }
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_SIM_COMMAND_H
#define WEFT_TOOLS_SHARD_SIM_COMMAND_H

#include <functional>

namespace CLI {
class App;
} // namespace CLI

namespace weft::tools {

/// Exit codes of the tool.
enum ExitCode : int {
  exitSuccess = 0,
  /// What was asked for failed: the output could not be written, or a table is
  /// not safe.
  exitFailed = 1,
  /// Arguments or input files are wrong.
  exitBadInput = 2,
};

/// Prints what it has to say and returns the exit code.
using Command = std::function<int()>;

void addClusterCommand(CLI::App &app, Command &chosen);
void addPlanCommand(CLI::App &app, Command &chosen);
void addSweepCommand(CLI::App &app, Command &chosen);
void addScheduleCommand(CLI::App &app, Command &chosen);
void addTransfersCommand(CLI::App &app, Command &chosen);
void addCheckCommand(CLI::App &app, Command &chosen);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_SIM_COMMAND_H
