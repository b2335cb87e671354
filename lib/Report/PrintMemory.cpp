//===- PrintMemory.cpp - The memory of an entry as a table ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryReport.h"

#include "weft/Cost/Bytes.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace weft {

template <typename... Args>
static std::string format(const char *pattern, Args... args) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, args...);
  return text;
}

/// The largest ones of the peak.
static std::string printPeak(const EntryReport &entry) {
  constexpr size_t shown = 8;
  std::string text = "  alive at the peak";
  if (!entry.peakLocation.empty())
    text += " (" + entry.peakLocation + ")";
  text += "\n";
  for (size_t i = 0; i < std::min(shown, entry.peak.size()); ++i) {
    const TensorRecord &tensor = entry.peak[i];
    text += "    " + format("%9s", printBytes(tensor.bytes).c_str()) + "  " +
            tensor.purpose + "  " + tensor.type +
            (tensor.type.empty() ? "" : " ") + tensor.name + "\n";
  }
  if (entry.peak.size() <= shown)
    return text;
  uint64_t rest = 0;
  for (size_t i = shown; i < entry.peak.size(); ++i)
    rest += entry.peak[i].bytes;
  return text + "    " + format("%9s", printBytes(rest).c_str()) + "  in " +
         std::to_string(entry.peak.size() - shown) + " more\n";
}

std::string printMemory(const EntryReport &entry, uint64_t arenaBytes) {
  std::string text = "memory of a rank in " + entry.name + "\n" +
                     "                           at the peak       highest\n";
  auto addRow = [&](const std::string &name, uint64_t peak,
                    const std::string &highest) {
    text += "  " +
            format("%-24s %12s", name.c_str(), printBytes(peak).c_str()) +
            (highest.empty() ? "" : format("  %12s", highest.c_str())) + "\n";
  };
  for (const PurposeRecord &record : entry.purposes)
    if (record.highestBytes)
      addRow(record.purpose, record.peakBytes, printBytes(record.highestBytes));
  if (arenaBytes > entry.peakBytes)
    addRow("free", arenaBytes - entry.peakBytes, "");
  addRow("arena", arenaBytes, "");
  if (entry.livenessBytes)
    text += format("  %.3fx the liveness lower bound\n",
                   double(entry.callBytes) / double(entry.livenessBytes));
  if (entry.recomputedFlops)
    text += format("  %.1f",
                   100 * double(entry.recomputedFlops) / double(entry.flops)) +
            " % of FLOPs are recomputation\n";
  return entry.peak.empty() ? text : text + printPeak(entry);
}

} // namespace weft
