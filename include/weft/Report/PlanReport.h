//===- PlanReport.h - What a plan sends, stores and computes ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The facts of a plan that people look at, read from the plan alone: for each
// entry its collectives with axes, bytes on the wire, count and cause, its work
// and its memory, and of a pipeline its stages and schedule. shard-compile
// prints them (printPlanReport), the Python package hands them out as records.
//
// Plain C++ on the plan schema: what only reads plans needs no LLVM for it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_REPORT_PLANREPORT_H
#define WEFT_REPORT_PLANREPORT_H

#include "weft/Timeline/TimedSchedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::plan {
struct Plan; // the generated FlatBuffers table
} // namespace weft::plan

namespace weft {

/// Collectives of one entry that are alike in everything but their number.
struct CollectiveRecord {
  /// "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute",
  /// "exchange".
  std::string kind;
  /// The axes of the group, major to minor: "data", "model:(2)4".
  std::vector<std::string> axes;
  /// "sum", "max" or "min"; empty for what only moves data.
  std::string reduction;
  /// Bytes that one rank sends, in each of them.
  uint64_t bytes = 0;
  int64_t count = 0;
  /// Why it is there, in words; may be empty.
  std::string cause;
  /// The location in the model that it serves; empty and 0 if unknown.
  std::string file;
  int64_t line = 0;
};

/// Where an axis at one end of a movement of data comes from.
struct ReasonLineRecord {
  /// What it ends at: "annotation", "default", "choice" or "operation".
  std::string end;
  std::string text;
};

/// What was weighed: bytes that one rank sends, and predicted seconds.
struct AlternativeRecord {
  std::string text;
  uint64_t bytes = 0;
  double seconds = 0;
};

/// Why the collectives of a cause are there.
struct ReasonRecord {
  std::string cause;
  std::vector<ReasonLineRecord> chain;
  /// The first is what the plan does.
  std::vector<AlternativeRecord> alternatives;
  /// What to write instead; empty if no single edit removes them.
  std::string edit;
};

/// What memory is used for, in the order of the tables: parameters, gradients,
/// optimizer state, states (of programs that differentiate by none),
/// activations, communication buffers, arguments, results, constants,
/// temporaries. docs/Memory.md defines them.
struct PurposeRecord {
  std::string purpose;
  /// Bytes at the peak of the entry, and the most that there are at one time.
  uint64_t peakBytes = 0, highestBytes = 0;
  /// Those at any time: of states and constants.
  uint64_t fixedBytes = 0;
};

/// A tensor that is alive at the peak.
struct TensorRecord {
  /// Of an argument, result or state its name, else where it comes from.
  std::string name;
  std::string purpose;
  /// Local: "f32[4x8]".
  std::string type;
  /// Of how many micro-batches there is one. Bytes are those of all.
  uint64_t slots = 1;
  uint64_t bytes = 0;
  /// By how much less would be alive at the then highest moment without it.
  uint64_t savedBytes = 0;
};

/// The memory of a rank in a call.
struct MemoryReport {
  /// All that the rank allocates.
  uint64_t arenaBytes = 0;
  /// Bytes laid out for what lives within a call, and the largest sum of those
  /// alive at one instruction: no layout takes less. With a pipeline those of
  /// the segment that takes the most.
  uint64_t callBytes = 0, livenessBytes = 0;
  /// One for each purpose. At the peak they sum up to `peakBytes`.
  std::vector<PurposeRecord> purposes;
  /// The first instruction at which the most memory is in use, and its place in
  /// the source; with a pipeline that of a segment, "step.0B".
  std::string peakSegment;
  uint64_t peakInstruction = 0;
  std::string peakLocation;
  /// What is alive there, the largest first; of equal ones the earlier one.
  std::vector<TensorRecord> peak;
  uint64_t peakBytes = 0;
};

/// What a stage of a pipeline computes and sends. Numbers are those of one rank
/// of its role.
struct StageRecord {
  int64_t stage = 0;
  /// The coordinate of its ranks along the axis of the pipeline.
  int64_t role = 0;
  uint64_t parameterBytes = 0;
  /// FLOPs of a micro-batch. Of the backward pass all; if its halves run apart,
  /// those of input and weight gradients as well.
  uint64_t forwardFlops = 0, backwardFlops = 0;
  uint64_t inputGradientFlops = 0, weightGradientFlops = 0;
  /// Once a step: what its role computes before and behind the micro-batches.
  /// Of several stages of a role the first has it.
  uint64_t onceFlops = 0;
  /// The time of that, as the compiler estimates it.
  double onceSeconds = 0;
  /// Bytes of a step, to other stages and in collectives.
  uint64_t sentBytes = 0, collectiveBytes = 0;
};

/// What one rank sends to a rank of another role.
struct MessageRecord {
  /// "activations of stage 0 for stage 1".
  std::string label;
  uint64_t bytes = 0;
  /// How often in a call.
  int64_t count = 0;
  int64_t queue = 0;
};

/// A parameter that several roles have.
struct SharedParameter {
  std::string name;
  uint64_t bytes = 0;
  /// The roles that update it; the others are sent the new value.
  std::vector<int64_t> updatedBy, sentTo;
};

struct PipelineReport {
  /// The mesh axis.
  std::string axis;
  /// Empty if names of segments do not say what they are.
  std::vector<StageRecord> stages;
  std::vector<MessageRecord> messages;
  std::vector<SharedParameter> shared;
  /// Of the micro-batches alone, in microseconds that the compiler estimates,
  /// for all transfers those of the largest message. None if the rows of the
  /// plan are no table of passes.
  std::optional<timeline::TimedSchedule> schedule;
};

/// A function that a plan offers. Of a pipeline all counts are sums over the
/// roles: those of one rank of each.
struct EntryReport {
  std::string name;
  /// In the order of their first start.
  std::vector<CollectiveRecord> collectives;
  /// Instructions of each kind.
  int64_t gemms = 0, convolutions = 0, attentions = 0, launches = 0, copies = 0;
  /// Estimates for one rank and one call: floating-point operations, bytes that
  /// instructions read and write in memory, bytes sent.
  uint64_t flops = 0, memoryTraffic = 0, wireBytes = 0;
  /// Those of `flops` that recompute.
  uint64_t recomputedFlops = 0;
  /// With a pipeline for each role.
  std::vector<MemoryReport> memory;
  std::optional<PipelineReport> pipeline;

  /// Of the role that allocates the most.
  size_t largestRole() const;
};

/// A dimension of an input, output or state that its shards do not divide.
struct PaddingRecord {
  std::string name;
  int64_t dim = 0, size = 0, shards = 1;
  /// Elements of the dimension in each shard.
  int64_t localSize = 0;
  /// What the padding takes on all ranks that hold one copy of the tensor.
  uint64_t bytes = 0;
};

/// Kernels for a GPU.
struct GpuKernelsReport {
  /// "sm_90".
  std::string processor;
  int64_t kernels = 0;
  /// 0 if there was no ptxas; then the rest is not known either.
  uint64_t cubinBytes = 0;
  /// The most that a kernel has.
  int64_t registers = 0, sharedBytes = 0;
  /// Kernels that spill registers.
  int64_t spilling = 0;
};

/// Sizes are those of one rank.
struct PlanReport {
  /// Of a plan for CUDA.
  std::optional<GpuKernelsReport> gpuKernels;
  std::vector<EntryReport> entries;
  /// Each name once.
  std::vector<PaddingRecord> padding;
  /// One for each distinct cause.
  std::vector<ReasonRecord> reasons;
  /// Lines that say what passes chose and what that saves; may be empty.
  std::string choices;
};

/// Where the metadata of a plan has PlanReport::choices.
inline constexpr std::string_view kChoicesKey = "weft.choices";

/// The causes that a collective has: its own, or those of the collectives that
/// it stands for.
std::vector<std::string> causesOf(const CollectiveRecord &record);

/// Times are those of a cluster.
PlanReport makePlanReport(const plan::Plan &plan,
                          const std::string &cluster = {});

/// `bytes` are those of a plan that writePlan has made.
PlanReport makePlanReport(std::string_view bytes,
                          const std::string &cluster = {});

/// What inputs, outputs and states are padded.
std::vector<PaddingRecord> findPadding(const plan::Plan &plan);

/// Why the collectives of all entries are there, at most 15 lines each: what
/// each is, its cause, the chain from what the user wrote, what else was
/// weighed and what to write instead.
std::string printReasons(const PlanReport &report);

/// The tables that shard-compile prints.
std::string printPlanReport(const PlanReport &report);

} // namespace weft

#endif // WEFT_REPORT_PLANREPORT_H
