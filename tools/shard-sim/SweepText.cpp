//===- SweepText.cpp - Ranked plans as a table ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepPrint.h"

#include "weft/Cost/Bytes.h"
#include "weft/Report/TextTable.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

using namespace weft::simulate;

namespace weft::tools {

namespace {

/// A column of the table.
struct SweepColumn {
  std::string heading;
  std::function<std::string(const SweepRow &)> print;
  TextTable::Align align = TextTable::Align::Right;
};

} // namespace

static std::string percent(double part) {
  return fmt::format("{:.1f} %", 100 * part);
}

/// "fits", or by how much it does not, and what takes the most of it.
static std::string printVerdict(const SweepRow &row, double usable) {
  if (row.fits)
    return "fits";
  const PurposeRecord &largest = *std::ranges::max_element(
      row.memory.purposes, {}, &PurposeRecord::peakBytes);
  const auto bytes = [](double number) {
    return printBytes(static_cast<uint64_t>(std::max(0.0, number)));
  };
  return fmt::format("exceeds {} by {}: {} of {}", bytes(usable),
                     bytes(static_cast<double>(row.memory.arenaBytes) - usable),
                     printBytes(largest.peakBytes), largest.purpose);
}

/// Those whose value is not the same everywhere, which would say nothing.
static void addSettings(const Sweep &sweep, std::vector<SweepColumn> &columns) {
  const auto &settings = sweep.rows.front().settings;
  for (size_t i = 0; i < settings.size(); ++i)
    if (std::ranges::any_of(sweep.rows, [&](const SweepRow &row) {
          return row.settings[i].second != settings[i].second;
        }))
      columns.push_back({settings[i].first, [i](const SweepRow &row) {
                           return row.settings[i].second;
                         }});
}

/// With the columns of Python's weft.sweep, whose rows are combinations.
static std::vector<SweepColumn> makeColumns(const SweepRequest &request,
                                            const Sweep &sweep) {
  std::vector<SweepColumn> columns = {
      {"plan", &SweepRow::name, TextTable::Align::Left}};
  addSettings(sweep, columns);
  const auto add = [&](std::string heading, auto print) {
    columns.push_back({std::move(heading), std::move(print)});
  };
  const auto share = [](Picoseconds time, const SweepRow &row) {
    return percent(row.step ? toSeconds(time) / toSeconds(row.step) : 0);
  };
  const bool scales = std::ranges::any_of(sweep.rows, [&](const SweepRow &row) {
    return row.devices != sweep.rows.front().devices;
  });
  const bool hasBubble = std::ranges::any_of(
      sweep.rows, [](const SweepRow &row) { return row.bubble > 0; });
  add("mesh", [](const SweepRow &row) { return printMesh(row.mesh); });
  if (scales)
    add("devices",
        [](const SweepRow &row) { return std::to_string(row.devices); });
  add("step time",
      [](const SweepRow &row) { return printSeconds(toSeconds(row.step)); });
  for (const auto &[heading, items] :
       {std::pair{"samples/s", request.samples}, {"tokens/s", request.tokens}})
    if (items > 0)
      add(heading, [items](const SweepRow &row) {
        return fmt::format("{:.5g}", items / toSeconds(row.step));
      });
  if (scales)
    add("efficiency",
        [](const SweepRow &row) { return percent(row.efficiency); });
  add("MFU", [](const SweepRow &row) { return percent(row.modelUtilization); });
  add("exposed", [=](const SweepRow &row) {
    return share(row.communication.exposed, row);
  });
  if (hasBubble)
    add("bubble", [=](const SweepRow &row) { return share(row.bubble, row); });
  add("memory",
      [](const SweepRow &row) { return printBytes(row.memory.arenaBytes); });
  const double usable = request.machine.cost.usableBytes();
  columns.push_back(
      {"", [usable](const SweepRow &row) { return printVerdict(row, usable); },
       TextTable::Align::Left});
  return columns;
}

std::string printText(const SweepRequest &request, const Sweep &sweep) {
  const std::vector<SweepColumn> columns = makeColumns(request, sweep);
  TextTable table;
  table.addColumn("");
  for (const SweepColumn &column : columns)
    table.addColumn(column.heading, column.align);
  for (size_t i = 0; i < sweep.rows.size(); ++i) {
    std::vector<std::string> cells = {std::to_string(i + 1)};
    for (const SweepColumn &column : columns)
      cells.push_back(column.print(sweep.rows[i]));
    table.addRow(std::move(cells));
  }
  return fmt::format("{} plans of {} on {} ({})\n", sweep.rows.size(),
                     request.entry.name()->str(),
                     request.machine.cost.cluster().name,
                     request.machine.reason) +
         table.print();
}

} // namespace weft::tools
