//===- StepOptions.h - What to predict, and on which machine ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options that the prediction of one plan has in common with that of
// several.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_SIM_STEPOPTIONS_H
#define WEFT_TOOLS_SHARD_SIM_STEPOPTIONS_H

#include "weft/Simulate/StepReport.h"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace weft::tools {

struct StepOptions {
  std::string cluster, software, entry;
  double samples = 0, tokens = 0;
  bool printsJson = false;

  void addTo(CLI::App &command);
  /// Of --cluster and --software, or none after adding to `problems`.
  std::optional<simulate::Machine>
  machineFor(const plan::Plan &plan, std::vector<std::string> &problems) const;
  /// Those of --entry, or all; none after adding to `problems`.
  std::vector<const plan::Entry *>
  entriesOf(const plan::Plan &plan, const std::string &file,
            std::vector<std::string> &problems) const;
};

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_SIM_STEPOPTIONS_H
