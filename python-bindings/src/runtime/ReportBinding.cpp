//===- ReportBinding.cpp - The report of a plan ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"

#include "weft/Report/PlanReport.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace weft::runtime {

void bindReport(nb::module_ &m) {
  nb::class_<CollectiveRecord>(m, "CollectiveRecord")
      .def_ro("kind", &CollectiveRecord::kind)
      .def_ro("axes", &CollectiveRecord::axes)
      .def_ro("reduction", &CollectiveRecord::reduction)
      .def_ro("bytes", &CollectiveRecord::bytes)
      .def_prop_ro("causes", &causesOf)
      .def_ro("count", &CollectiveRecord::count)
      .def_ro("cause", &CollectiveRecord::cause)
      .def_ro("file", &CollectiveRecord::file)
      .def_ro("line", &CollectiveRecord::line);
  nb::class_<PurposeRecord>(m, "PurposeRecord")
      .def_ro("purpose", &PurposeRecord::purpose)
      .def_ro("peak_bytes", &PurposeRecord::peakBytes)
      .def_ro("highest_bytes", &PurposeRecord::highestBytes);
  nb::class_<TensorRecord>(m, "TensorRecord")
      .def_ro("name", &TensorRecord::name)
      .def_ro("purpose", &TensorRecord::purpose)
      .def_ro("type", &TensorRecord::type)
      .def_ro("slots", &TensorRecord::slots)
      .def_ro("bytes", &TensorRecord::bytes)
      .def_ro("saved_bytes", &TensorRecord::savedBytes);
  nb::class_<MemoryReport>(m, "MemoryReport")
      .def_ro("arena_bytes", &MemoryReport::arenaBytes)
      .def_ro("call_bytes", &MemoryReport::callBytes)
      .def_ro("liveness_bytes", &MemoryReport::livenessBytes)
      .def_ro("purposes", &MemoryReport::purposes)
      .def_ro("peak_segment", &MemoryReport::peakSegment)
      .def_ro("peak_location", &MemoryReport::peakLocation)
      .def_ro("peak", &MemoryReport::peak);
  nb::class_<StageRecord>(m, "StageRecord")
      .def_ro("stage", &StageRecord::stage)
      .def_ro("role", &StageRecord::role)
      .def_ro("parameter_bytes", &StageRecord::parameterBytes)
      .def_ro("forward_flops", &StageRecord::forwardFlops)
      .def_ro("backward_flops", &StageRecord::backwardFlops)
      .def_ro("input_gradient_flops", &StageRecord::inputGradientFlops)
      .def_ro("weight_gradient_flops", &StageRecord::weightGradientFlops)
      .def_ro("once_flops", &StageRecord::onceFlops)
      .def_ro("once_seconds", &StageRecord::onceSeconds)
      .def_ro("sent_bytes", &StageRecord::sentBytes)
      .def_ro("collective_bytes", &StageRecord::collectiveBytes);
  nb::class_<MessageRecord>(m, "MessageRecord")
      .def_ro("label", &MessageRecord::label)
      .def_ro("bytes", &MessageRecord::bytes)
      .def_ro("count", &MessageRecord::count)
      .def_ro("queue", &MessageRecord::queue);
  nb::class_<PipelineReport>(m, "PipelineReport")
      .def_ro("axis", &PipelineReport::axis)
      .def_ro("stages", &PipelineReport::stages)
      .def_ro("messages", &PipelineReport::messages)
      .def_ro("schedule", &PipelineReport::schedule);
  nb::class_<EntryReport>(m, "EntryReport")
      .def_ro("name", &EntryReport::name)
      .def_ro("collectives", &EntryReport::collectives)
      .def_ro("gemms", &EntryReport::gemms)
      .def_ro("convolutions", &EntryReport::convolutions)
      .def_ro("launches", &EntryReport::launches)
      .def_ro("copies", &EntryReport::copies)
      .def_ro("flops", &EntryReport::flops)
      .def_ro("memory_traffic", &EntryReport::memoryTraffic)
      .def_ro("wire_bytes", &EntryReport::wireBytes)
      .def_ro("recomputed_flops", &EntryReport::recomputedFlops)
      .def_ro("memory", &EntryReport::memory)
      .def_ro("pipeline", &EntryReport::pipeline)
      .def_prop_ro("largest_role", &EntryReport::largestRole);
  nb::class_<PaddingRecord>(m, "PaddingRecord")
      .def_ro("name", &PaddingRecord::name)
      .def_ro("dim", &PaddingRecord::dim)
      .def_ro("size", &PaddingRecord::size)
      .def_ro("shards", &PaddingRecord::shards)
      .def_ro("local_size", &PaddingRecord::localSize)
      .def_ro("bytes", &PaddingRecord::bytes);
  nb::class_<ReasonLineRecord>(m, "ReasonLineRecord")
      .def_ro("end", &ReasonLineRecord::end)
      .def_ro("text", &ReasonLineRecord::text);
  nb::class_<AlternativeRecord>(m, "AlternativeRecord")
      .def_ro("text", &AlternativeRecord::text)
      .def_ro("bytes", &AlternativeRecord::bytes)
      .def_ro("seconds", &AlternativeRecord::seconds);
  nb::class_<ReasonRecord>(m, "ReasonRecord")
      .def_ro("cause", &ReasonRecord::cause)
      .def_ro("chain", &ReasonRecord::chain)
      .def_ro("alternatives", &ReasonRecord::alternatives)
      .def_ro("edit", &ReasonRecord::edit);
  nb::class_<PlanReport>(m, "PlanReport")
      .def_ro("entries", &PlanReport::entries)
      .def_ro("padding", &PlanReport::padding)
      .def_ro("reasons", &PlanReport::reasons)
      .def_ro("choices", &PlanReport::choices)
      .def("__str__", &printPlanReport);
}

} // namespace weft::runtime
