//===- Reasons.cpp - Why the collectives of a plan are there --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reasons.h"

#include "weft/runtime/plan_generated.h"

namespace weft {

static const char *nameOf(plan::ReasonEnd end) {
  switch (end) {
  case plan::ReasonEnd::Annotation:
    return "annotation";
  case plan::ReasonEnd::Default:
    return "default";
  case plan::ReasonEnd::Choice:
    return "choice";
  case plan::ReasonEnd::Operation:
    return "operation";
  }
  return "";
}

std::vector<ReasonRecord> readReasons(const plan::Plan &plan) {
  std::vector<ReasonRecord> records;
  if (!plan.reasons())
    return records;
  for (const plan::Reason *reason : *plan.reasons()) {
    ReasonRecord &record = records.emplace_back();
    record.cause = reason->cause()->str();
    for (const plan::ReasonLine *line : *reason->chain())
      record.chain.push_back({nameOf(line->end()), line->text()->str()});
    if (reason->alternatives())
      for (const plan::Alternative *each : *reason->alternatives())
        record.alternatives.push_back(
            {each->text()->str(), each->wire_bytes(), each->seconds()});
    if (reason->edit())
      record.edit = reason->edit()->str();
  }
  return records;
}

/// Of what stands for several, each line behind the first has the bytes and the
/// cause of one: `8.00 MiB: partial sums ...`.
std::vector<std::string> causesOf(const CollectiveRecord &record) {
  size_t end = record.cause.find('\n');
  if (end == std::string::npos)
    return {record.cause};
  std::vector<std::string> causes;
  while (end != std::string::npos) {
    size_t begin = end + 1;
    end = record.cause.find('\n', begin);
    std::string line = record.cause.substr(begin, end - begin);
    size_t colon = line.find(": ");
    causes.push_back(colon == std::string::npos ? line
                                                : line.substr(colon + 2));
  }
  return causes;
}

} // namespace weft
