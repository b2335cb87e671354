//===- Prediction.h - What a call of an entry takes -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs an entry of a plan in virtual time on a described cluster. One rank of
// each role stands for all of them, however many there are.
//
//   CostModel cost(*loadCluster("dgx-h100").cluster);
//   toSeconds(predict(plan, *plan.entries()->Get(0), cost, {}).step);
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SIMULATE_PREDICTION_H
#define WEFT_SIMULATE_PREDICTION_H

#include "weft/Report/PlanReport.h"
#include "weft/Simulate/Streams.h"
#include "weft/Simulate/TimelineRun.h"

#include <map>
#include <optional>

namespace weft::simulate {

/// As if outermost loops that run `from` times ran `to` times: a step of
/// another number of micro-batches, where no choice of the compiler depends on
/// it.
struct Turns {
  uint32_t from = 0, to = 0;
};

struct PredictionOptions {
  /// Mesh axes that have another size than in the plan.
  std::map<std::string, int64_t> axisSizes = {};
  /// For a trace.
  bool records = false;
  /// Look at every device, also where strides say where groups lie.
  bool looksAtDevices = false;
  /// A position of the mesh: as if all ranks of a role lay as this one does,
  /// for which every device is looked at.
  std::optional<int64_t> rank = {};
  Turns turns = {};
};

/// Ranks of a role whose groups lie alike: a step as if all lay so.
struct RankRow {
  /// The first of them in the order of the mesh, its device, and how many there
  /// are in a role.
  int64_t rank = 0, device = 0, ranks = 0;
  Picoseconds step = 0;
  /// Of a rank; the mean of the roles.
  Picoseconds exposed = 0;
  /// By the number of axes; of a pipeline's, the level alone.
  std::vector<cost::Placement> placements;
};

/// Of a recording, the first so many events are there.
inline constexpr size_t mostEvents = 1'000'000;

/// An execution of an entry or a segment, from its begin.
struct Recording {
  /// The number of the entry.
  uint32_t entry = 0;
  std::vector<StreamEvent> events;
  /// When the rank came to an instruction, as often as it did.
  struct Start {
    uint32_t instruction = 0;
    Picoseconds time = 0;
  };
  std::vector<Start> starts;
  bool hasAllEvents = true;
};

struct RolePrediction {
  Usage usage;
  /// It waits for other roles.
  Picoseconds bubble = 0;
  /// If recorded: without a pipeline one, and no waits.
  std::vector<RunTime> runs;
  std::vector<WaitTime> waits;

  /// All that the step consists of.
  Picoseconds sum() const {
    return usage.busy() + usage.host + usage.exposed() + bubble;
  }
};

struct Prediction {
  /// What is wrong; then there is nothing else.
  std::vector<std::string> problems;

  std::string entry;
  /// Of the mesh, in its order.
  std::vector<cost::MeshAxis> mesh;
  /// Without a pipeline one.
  std::vector<RolePrediction> roles;
  Picoseconds step = 0;
  /// Of `Usage::communication`: "data", "data, model".
  std::vector<std::string> axes;
  /// Of each group of the plan: the number of its axes.
  std::vector<size_t> axesOfGroup;
  /// Of the axis of the pipeline, if there is one.
  std::optional<size_t> pipelineAxes;
  /// By the number of axes: where the group lies that calls are priced for.
  std::vector<cost::Placement> placements;
  /// Of a pipeline, if recorded.
  std::vector<TransferTime> transfers;
  /// If recorded, by RunTime::recording.
  std::map<uint32_t, Recording> recordings;

  /// What a role does, if recorded. A segment's instruction is in `entry`.
  struct Event {
    uint32_t entry = 0, microbatch = 0;
    StreamEvent event;
  };
  std::vector<Event> events(size_t role) const;
  /// Whether they are all of them.
  bool hasAllEvents(size_t role) const;

  int64_t devices() const;
  /// Of all roles.
  Usage total() const;
  /// Of a rank, over all axes; the mean of the roles.
  Communication communication() const;
  /// The mean of the roles.
  Picoseconds bubble() const;
  /// Operations of matmuls and attention, over what the devices can do
  /// in the time of a step: without and with recomputation.
  double modelUtilization() const;
  double hardwareUtilization() const;
};

/// The first `most` kinds of ranks that each role has. The whole step has a
/// group of each axis where the worst lies.
std::vector<RankRow> predictRanks(const plan::Plan &plan,
                                  const plan::Entry &entry,
                                  const cost::CostModel &cost, int64_t most);

/// Of a verified plan; the entry is none of a role.
Prediction predict(const plan::Plan &plan, const plan::Entry &entry,
                   const cost::CostModel &cost,
                   const PredictionOptions &options);

/// Of the entry of a name in the bytes of a plan that writePlan has made.
Prediction predict(std::string_view bytes, std::string_view entry,
                   const cost::CostModel &cost);

} // namespace weft::simulate

#endif // WEFT_SIMULATE_PREDICTION_H
