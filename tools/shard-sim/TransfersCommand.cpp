//===- TransfersCommand.cpp - shard-sim transfers -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "Files.h"
#include "TableOptions.h"

#include "weft/Timeline/Extent.h"
#include "weft/Timeline/ParameterActions.h"
#include "weft/Timeline/TableRules.h"
#include "weft/Timeline/Transfers.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

using namespace weft::timeline;

namespace weft::tools {
namespace {

struct TransfersOptions {
  TableOptions table;
  std::string receives = "with-send";
  bool gathersParameters = false;
  bool reducesGradients = false;
};

int runTransfers(const TransfersOptions &options) {
  std::optional<Table> table = options.table.read();
  if (!table)
    return exitBadInput;
  std::vector<std::string> problems = findProblems(*table);
  if (!problems.empty()) {
    for (std::string &problem : problems)
      problem = options.table.file + ": " + problem;
    return report(exitBadInput, problems);
  }
  *table = computeOnly(*table);
  const Extent extent = extentOf(*table);
  for (Row &row : table->rows) {
    if (options.gathersParameters)
      row = addUnshards(row);
    if (options.reducesGradients)
      row = addGradientReductions(row, extent.microbatches);
  }
  const TransferredTable result =
      addTransfers(*table, extent.placement, options.table.edgesOf(*table),
                   options.receives == "before-use" ? Receives::BeforeUse
                                                    : Receives::WithSend);
  if (!result.error.empty())
    return report(exitBadInput, {options.table.file + ": " + result.error});
  fmt::print("{}", printCsv(result.table));
  return exitSuccess;
}

} // namespace

void addTransfersCommand(CLI::App &app, Command &chosen) {
  CLI::App *command = app.add_subcommand(
      "transfers", "Print a table with the sends and receives that it needs, "
                   "in place of those it has");
  auto options = std::make_shared<TransfersOptions>();
  options->table.addTo(*command);
  command
      ->add_option("--receives", options->receives,
                   "Where a rank receives: with-send (when the message is "
                   "sent; safe on any communicators) or before-use (before "
                   "the action that needs it, in the order of the sender; "
                   "needs a communicator for each direction)")
      ->check(CLI::IsMember({"with-send", "before-use"}))
      ->capture_default_str();
  command->add_flag("--gather-parameters", options->gathersParameters,
                    "Add what stages with sharded parameters need: UNSHARD and "
                    "RESHARD");
  command->add_flag("--reduce-gradients", options->reducesGradients,
                    "Add REDUCE_GRAD behind the last weight gradient of each "
                    "stage");
  command->callback([options, &chosen] {
    chosen = [options] { return runTransfers(*options); };
  });
}

} // namespace weft::tools
