//===- PrintReasons.cpp - Why collectives are there, as text --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Report/PlanReport.h"

#include "weft/Cost/Bytes.h"
#include "weft/Report/TextTable.h"

#include <algorithm>

namespace weft {

/// A cause without the numbers of layers, `params['blocks'][*]['wq']`: layers
/// that are alike share a reason.
static std::string generalCause(const std::string &cause) {
  std::string text;
  for (size_t i = 0; i < cause.size(); ++i) {
    text += cause[i];
    size_t end = i + 1;
    while (cause[i] == '[' && end < cause.size() && cause[end] >= '0' &&
           cause[end] <= '9')
      ++end;
    if (end > i + 1 && end < cause.size() && cause[end] == ']') {
      text += '*';
      i = end - 1;
    }
  }
  return text;
}

static std::string printReason(const ReasonRecord &reason) {
  std::string text;
  for (const ReasonLineRecord &line : reason.chain)
    text += "    " + line.text + "\n";
  if (!reason.alternatives.empty())
    text += "  alternatives\n";
  for (const AlternativeRecord &each : reason.alternatives)
    text += "    " + each.text + ": " + printBytes(each.bytes) + ", " +
            printSeconds(each.seconds) + "\n";
  if (!reason.edit.empty())
    text += "  edit: " + reason.edit + "\n";
  return text;
}

/// A collective that stands for several has the reason of the first.
static std::string printCollective(const PlanReport &report,
                                   const CollectiveRecord &record) {
  std::string text = record.kind + " over " + join(record.axes) + ", " +
                     std::to_string(record.count) + " x " +
                     printBytes(record.bytes) + "\n";
  const std::vector<std::string> causes = causesOf(record);
  const std::string general = generalCause(causes.front());
  text += "  " + (causes.front().empty() ? "no cause" : causes.front()) + "\n";
  if (causes.size() > 1)
    text +=
        "  with " + std::to_string(causes.size() - 1) + " more in one call\n";
  auto found = std::find_if(
      report.reasons.begin(), report.reasons.end(),
      [&](const ReasonRecord &reason) { return reason.cause == general; });
  return found == report.reasons.end() ? text : text + printReason(*found);
}

std::string printReasons(const PlanReport &report) {
  std::string text;
  for (const EntryReport &entry : report.entries) {
    if (entry.collectives.empty()) {
      text += "entry " + entry.name + " has no collectives\n";
      continue;
    }
    text += "why entry " + entry.name + " communicates\n";
    for (const CollectiveRecord &record : entry.collectives)
      text += printCollective(report, record);
  }
  return text;
}

} // namespace weft
