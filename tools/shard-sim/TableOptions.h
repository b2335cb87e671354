//===- TableOptions.h - Tables and their edges on the command line *- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_SIM_TABLEOPTIONS_H
#define WEFT_TOOLS_SHARD_SIM_TABLEOPTIONS_H

#include "weft/Timeline/Edge.h"
#include "weft/Timeline/Table.h"

#include <optional>
#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace weft::tools {

/// The file of a table, and what crosses between its stages.
struct TableOptions {
  std::string file;
  /// SOURCE:DESTINATION
  std::vector<std::string> skips;

  void addTo(CLI::App &command);
  /// The table, or none after messages that say why.
  std::optional<timeline::Table> read() const;
  /// Between neighbours, and of skip connections.
  std::vector<timeline::Edge> edgesOf(const timeline::Table &table) const;
};

/// The stages or micro-batches of a table. No more than it has actions: a file
/// may name any number, and then most of them are missing.
int32_t countUpTo(const timeline::Table &table,
                  int32_t timeline::Action::*number);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_SIM_TABLEOPTIONS_H
