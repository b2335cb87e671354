//===- PrintMemory.cpp - The memory of an entry as a table ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryReport.h"

#include "weft/Cost/Bytes.h"
#include "weft/Report/TextTable.h"

#include <algorithm>

namespace weft {

/// The largest ones of the peak.
static std::string printPeak(const MemoryReport &memory,
                             const std::string &rank) {
  constexpr size_t shown = 8;
  std::string location = memory.peakSegment;
  if (!memory.peakLocation.empty())
    location += (location.empty() ? "" : ", ") + memory.peakLocation;
  std::string text = "  alive at the peak" + rank +
                     (location.empty() ? "" : " (" + location + ")") + "\n";
  for (size_t i = 0; i < std::min(shown, memory.peak.size()); ++i) {
    const TensorRecord &tensor = memory.peak[i];
    text += "    " + format("%9s", printBytes(tensor.bytes).c_str()) + "  " +
            tensor.purpose + "  " + tensor.type +
            (tensor.type.empty() ? "" : " ") + tensor.name;
    if (tensor.slots > 1)
      text += ", " + std::to_string(tensor.slots) + " slots";
    text += "\n";
  }
  if (memory.peak.size() <= shown)
    return text;
  uint64_t rest = 0;
  for (size_t i = shown; i < memory.peak.size(); ++i)
    rest += memory.peak[i].bytes;
  return text + "    " + format("%9s", printBytes(rest).c_str()) + "  in " +
         std::to_string(memory.peak.size() - shown) + " more\n";
}

/// A row for each purpose, and what there is of it at most.
static std::string printPurposes(const MemoryReport &memory) {
  std::string text = "                           at the peak       highest\n";
  auto addRow = [&](const std::string &name, uint64_t peak,
                    const std::string &highest) {
    text += "  " +
            format("%-24s %12s", name.c_str(), printBytes(peak).c_str()) +
            (highest.empty() ? "" : format("  %12s", highest.c_str())) + "\n";
  };
  for (const PurposeRecord &record : memory.purposes)
    if (record.highestBytes)
      addRow(record.purpose, record.peakBytes, printBytes(record.highestBytes));
  if (memory.arenaBytes > memory.peakBytes)
    addRow("free", memory.arenaBytes - memory.peakBytes, "");
  addRow("arena", memory.arenaBytes, "");
  return text;
}

/// A row for each role, at its peak.
static std::string printRoles(const std::vector<MemoryReport> &roles) {
  TextTable table;
  std::vector<std::vector<std::string>> rows(roles.size());
  auto addColumn = [&](const std::string &name, auto bytesOf) {
    size_t space = name.find(' ');
    if (space == std::string::npos)
      table.addColumn(name);
    else
      table.addColumn(name.substr(space + 1), TextTable::Align::Right,
                      name.substr(0, space));
    for (size_t role = 0; role < roles.size(); ++role)
      rows[role].push_back(printBytes(bytesOf(roles[role])));
  };
  table.addColumn("rank");
  for (size_t role = 0; role < roles.size(); ++role)
    rows[role].push_back(std::to_string(role));
  for (size_t i = 0; i < roles.front().purposes.size(); ++i)
    if (std::ranges::any_of(roles, [&](const MemoryReport &memory) {
          return memory.purposes[i].peakBytes > 0;
        }))
      addColumn(roles.front().purposes[i].purpose,
                [&](const MemoryReport &memory) {
                  return memory.purposes[i].peakBytes;
                });
  addColumn("free", [](const MemoryReport &memory) {
    return memory.arenaBytes - memory.peakBytes;
  });
  addColumn("arena",
            [](const MemoryReport &memory) { return memory.arenaBytes; });
  for (std::vector<std::string> &row : rows)
    table.addRow(std::move(row));
  return table.print();
}

std::string printMemory(const EntryReport &entry) {
  const size_t role = entry.largestRole();
  const MemoryReport &memory = entry.memory[role];
  std::string text =
      "memory of a rank in " + entry.name +
      (entry.pipeline ? ", at its peak\n" + printRoles(entry.memory)
                      : "\n" + printPurposes(memory));
  std::string rank = entry.pipeline ? "rank " + std::to_string(role) : "";
  if (memory.livenessBytes)
    text += "  " + (rank.empty() ? "" : rank + ": ") +
            format("%.3fx the liveness lower bound\n",
                   double(memory.callBytes) / double(memory.livenessBytes));
  if (entry.recomputedFlops)
    text += format("  %.1f",
                   100 * double(entry.recomputedFlops) / double(entry.flops)) +
            " % of FLOPs are recomputation\n";
  return memory.peak.empty()
             ? text
             : text + printPeak(memory, rank.empty() ? "" : " of " + rank);
}

} // namespace weft
