//===- TableOptions.cpp - Tables and their edges on the command line ------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TableOptions.h"

#include "Files.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>

using namespace weft::timeline;

namespace weft::tools {

/// The edge of activations from a stage to a later one that is no neighbour.
static std::optional<Edge> toSkip(const std::string &text) {
  Edge edge;
  const char *end = text.data() + text.size();
  const auto source = std::from_chars(text.data(), end, edge.source);
  if (source.ec != std::errc() || source.ptr == end || *source.ptr != ':')
    return std::nullopt;
  const auto destination =
      std::from_chars(source.ptr + 1, end, edge.destination);
  if (destination.ec != std::errc() || destination.ptr != end ||
      edge.source < 0 || int64_t(edge.destination) < int64_t(edge.source) + 2)
    return std::nullopt;
  return edge;
}

void TableOptions::addTo(CLI::App &command) {
  command
      .add_option("table", file,
                  "A CSV file in the notation of PyTorch, one row a rank, or - "
                  "for standard input")
      ->required();
  command
      .add_option("--skip", skips,
                  "A skip connection as SOURCE:DESTINATION, two stages: "
                  "activations go from the first to the second, gradients "
                  "back. May be given several times")
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [](const std::string &text) {
            return toSkip(text)
                       ? std::string()
                       : "must be SOURCE:DESTINATION, two stages with others "
                         "between them, got \"" +
                             text + "\"";
          },
          ""));
}

int32_t countUpTo(const Table &table, int32_t Action::*number) {
  int64_t count = 0, actions = 0;
  for (const Row &row : table.rows) {
    for (const Action &action : row)
      if (!isOnce(action.kind))
        count = std::max(count, int64_t(action.*number) + 1);
    actions += int64_t(row.size());
  }
  return int32_t(std::min(count, actions));
}

std::optional<Table> TableOptions::read() const {
  const std::optional<std::string> text = readFile(file);
  if (!text)
    return std::nullopt;
  ParsedTable parsed = parseCsv(*text, file);
  const int32_t stages = countUpTo(parsed.table, &Action::stage);
  const bool isEmpty =
      std::ranges::all_of(parsed.table.rows, [](const Row &row) {
        return std::ranges::none_of(
            row, [](const Action &action) { return isCompute(action.kind); });
      });
  if (parsed.errors.empty() && isEmpty)
    parsed.errors.push_back(file +
                            ": no action of the table computes anything");
  for (const std::string &skip : skips)
    if (parsed.errors.empty() && toSkip(skip)->destination >= stages)
      parsed.errors.push_back("--skip " + skip + ": stages of the table: " +
                              std::to_string(stages));
  if (parsed.errors.empty())
    return std::move(parsed.table);
  report(exitBadInput, parsed.errors);
  return std::nullopt;
}

std::vector<Edge> TableOptions::edgesOf(const Table &table) const {
  std::vector<Edge> edges = neighbourEdges(countUpTo(table, &Action::stage));
  for (const std::string &skip : skips) {
    const Edge edge = *toSkip(skip);
    edges.push_back(edge);
    edges.push_back({edge.destination, edge.source, /*isBackward=*/true});
  }
  return edges;
}

} // namespace weft::tools
