//===- Schedules.h - Published pipeline schedules ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The published pipeline schedules. Each is a function of the number of ranks
// p, of micro-batches m and of chunks (stages) per rank v; docs/Pipelines.md
// compares them.
//
//   GeneratedTable generated = generate("1f1b", {.ranks = 4, .microbatches =
//   8});
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_SCHEDULES_H
#define WEFT_TIMELINE_SCHEDULES_H

#include "weft/Timeline/Table.h"

#include <span>

namespace weft::timeline {

/// A pipeline has no more ranks than that.
inline constexpr int32_t mostRanks = 4096;

struct ScheduleSize {
  int32_t ranks = 0, microbatches = 0;
  /// Stages per rank; 0: as many as the schedule has by default.
  int32_t chunks = 0;
};

/// On which rank a stage is.
enum class Fold : uint8_t {
  Loop, // stage s on rank s mod p
  V,    // stages 0 to p-1 on ranks 0 to p-1, p to 2p-1 on ranks p-1 to 0
};

struct NamedSchedule {
  std::string_view name;
  /// In a line, and without a period.
  std::string_view summary;
  /// "chunks = 2 and microbatches >= 2 * ranks"
  std::string_view admits;
  Fold fold = Fold::Loop;
  int32_t defaultChunks = 1;
  /// Whether input and weight gradients are actions of their own (I and W).
  bool splitsBackward = false;
  bool (*doesAdmit)(ScheduleSize);
  Table (*generate)(ScheduleSize);
};

std::span<const NamedSchedule> namedSchedules();
/// Null when there is none of that name.
const NamedSchedule *findSchedule(std::string_view name);

Placement placementOf(Fold fold, int32_t ranks, int32_t chunks);

/// A table, or why there is none: an unknown name, or a size that the schedule
/// does not admit.
struct GeneratedTable {
  Table table;
  std::string error;
};
GeneratedTable generate(std::string_view name, ScheduleSize size);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_SCHEDULES_H
