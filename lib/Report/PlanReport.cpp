//===- PlanReport.cpp - What a plan sends, stores and computes ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryReport.h"
#include "PipelineReport.h"
#include "Reasons.h"
#include "Segments.h"

#include "weft/Cost/ClusterFile.h"
#include "weft/runtime/PlanNames.h"
#include "weft/runtime/VisitOperation.h"
#include "weft/runtime/plan_generated.h"

#include <algorithm>
#include <tuple>

namespace weft {

/// `data`, `model:(2)4`
static std::vector<std::string> axesOf(const plan::Plan &plan,
                                       const plan::AxisList &axes) {
  std::vector<std::string> names;
  for (const plan::AxisRef *ref : *axes.axes()) {
    const plan::MeshAxis &axis = *plan.mesh()->Get(ref->axis());
    std::string name = axis.name()->str();
    if (ref->size() != axis.size())
      name += ":(" + std::to_string(ref->pre_size()) + ")" +
              std::to_string(ref->size());
    names.push_back(std::move(name));
  }
  return names;
}

/// Takes a source position `file:line` apart.
static void setLocation(CollectiveRecord &record,
                        const flatbuffers::String *location) {
  if (!location)
    return;
  std::string_view text = location->string_view();
  size_t colon = text.rfind(':');
  record.file = text.substr(0, colon);
  if (colon == std::string_view::npos)
    return;
  for (char digit : text.substr(colon + 1))
    if (digit >= '0' && digit <= '9')
      record.line = record.line * 10 + (digit - '0');
}

static CollectiveRecord toRecord(const plan::Plan &plan,
                                 const plan::Instruction &instruction,
                                 const plan::CollectiveStart &start) {
  CollectiveRecord record;
  record.kind = runtime::collectiveName(start.kind());
  record.axes = axesOf(plan, *plan.groups()->Get(start.group()));
  if (start.kind() == plan::CollectiveKind::AllReduce ||
      start.kind() == plan::CollectiveKind::ReduceScatter)
    record.reduction = runtime::reductionName(start.reduction());
  record.bytes = start.wire_bytes();
  if (instruction.cause())
    record.cause = instruction.cause()->str();
  setLocation(record, instruction.location());
  return record;
}

/// Everything but the number.
static auto kindOf(const CollectiveRecord &record) {
  return std::tie(record.kind, record.axes, record.reduction, record.bytes,
                  record.cause, record.file, record.line);
}

/// Counts a collective that is executed `times` times: with those that are
/// alike, or as a new record.
static void addCollective(EntryReport &report, CollectiveRecord record,
                          uint64_t times) {
  report.wireBytes += times * record.bytes;
  auto same = std::find_if(report.collectives.begin(), report.collectives.end(),
                           [&](const CollectiveRecord &other) {
                             return kindOf(other) == kindOf(record);
                           });
  if (same == report.collectives.end())
    same = report.collectives.insert(same, std::move(record));
  same->count += times;
}

/// What all executions of a segment take.
static void addWork(const plan::Plan &plan, const Segment &segment,
                    EntryReport &report) {
  const plan::Entry &entry = *segment.entry;
  std::vector<uint64_t> executions = countExecutions(entry);
  for (uint32_t i = 0; i < entry.instructions()->size(); ++i) {
    const plan::Instruction *instruction = entry.instructions()->Get(i);
    const uint64_t times = segment.times * executions[i];
    runtime::visitOperation(
        *instruction, [&](const plan::Gemm &) { report.gemms += times; },
        [&](const plan::Convolution &) { report.convolutions += times; },
        [&](const runtime::AttentionOperation auto &) {
          report.attentions += times;
        },
        [&](const plan::Launch &) { report.launches += times; },
        [&](const plan::Copy &) { report.copies += times; },
        [](const plan::Sort &) {},
        [&](const plan::CollectiveStart &start) {
          addCollective(report, toRecord(plan, *instruction, start), times);
        },
        [](const runtime::OneOf<plan::CollectiveWait, plan::Repeat> auto &) {});
    report.flops += times * instruction->flops();
    if (instruction->recomputes())
      report.recomputedFlops += times * instruction->flops();
    report.memoryTraffic += times * instruction->bytes();
  }
}

/// Of a rank, or of one of each role.
static std::vector<MemoryReport>
makeMemoryReports(const plan::Plan &plan, const plan::Entry &entry,
                  const std::vector<Segment> &segments) {
  if (!entry.timeline())
    return {makeMemoryReport(plan, {{&entry}, {}, plan.arena_bytes()})};
  std::vector<MemoryReport> reports;
  for (uint32_t role = 0; role < plan.pipeline()->roles()->size(); ++role) {
    RankPrograms rank = {
        {}, role, plan.pipeline()->roles()->Get(role)->arena_bytes()};
    for (const Segment &segment : segments)
      if (segment.role() == role)
        rank.programs.push_back(segment.entry);
    reports.push_back(makeMemoryReport(plan, rank));
  }
  return reports;
}

static cost::CostModel modelOf(const std::string &cluster) {
  if (auto parsed = cost::loadCluster(cluster); parsed.cluster)
    return cost::CostModel(*parsed.cluster);
  return cost::CostModel(
      *cost::loadCluster(std::string(cost::defaultCluster)).cluster);
}

static EntryReport makeEntryReport(const plan::Plan &plan,
                                   const plan::Entry &entry,
                                   const cost::CostModel &model) {
  EntryReport report;
  report.name = entry.name()->str();
  std::vector<Segment> segments = findSegments(plan, entry);
  for (const Segment &segment : segments)
    addWork(plan, segment, report);
  report.memory = makeMemoryReports(plan, entry, segments);
  if (!entry.timeline())
    return report;
  report.pipeline = makePipelineReport(plan, entry, segments, model);
  for (const MessageRecord &message : report.pipeline->messages)
    report.wireBytes += message.count * message.bytes;
  return report;
}

size_t EntryReport::largestRole() const {
  return std::ranges::max_element(memory, {}, &MemoryReport::arenaBytes) -
         memory.begin();
}

static std::optional<GpuKernelsReport>
makeGpuKernelsReport(const plan::Plan &plan) {
  if (plan.target()->kind()->string_view() != "cuda")
    return std::nullopt;
  GpuKernelsReport report;
  report.processor = plan.target()->processor()->str();
  report.kernels = plan.kernels()->size();
  report.cubinBytes = plan.object() ? plan.object()->size() : 0;
  for (const plan::Kernel *kernel : *plan.kernels()) {
    const plan::Grid &grid = *kernel->grid();
    report.registers = std::max<int64_t>(report.registers, grid.registers());
    report.sharedBytes = std::max<int64_t>(
        report.sharedBytes, grid.shared_bytes() + grid.launch_shared_bytes());
    report.spilling += grid.spill_bytes() > 0;
  }
  return report;
}

PlanReport makePlanReport(const plan::Plan &plan, const std::string &cluster) {
  const cost::CostModel model = modelOf(cluster);
  PlanReport report;
  report.gpuKernels = makeGpuKernelsReport(plan);
  report.padding = findPadding(plan);
  report.reasons = readReasons(plan);
  if (plan.metadata())
    for (const plan::Metadata *item : *plan.metadata())
      if (item->key()->string_view() == kChoicesKey)
        report.choices = item->value()->str();
  for (const plan::Entry *entry : *plan.entries())
    if (!entry->role())
      report.entries.push_back(makeEntryReport(plan, *entry, model));
  return report;
}

PlanReport makePlanReport(std::string_view bytes, const std::string &cluster) {
  const plan::Container &container =
      *plan::GetContainer(reinterpret_cast<const uint8_t *>(bytes.data()));
  return makePlanReport(
      *flatbuffers::GetRoot<plan::Plan>(container.payload()->data()), cluster);
}

} // namespace weft
