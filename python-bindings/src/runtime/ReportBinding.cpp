//===- ReportBinding.cpp - The report of a plan ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"

#include "weft/Report/PlanReport.h"

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
      .def_ro("bytes", &TensorRecord::bytes);
  nb::class_<EntryReport>(m, "EntryReport")
      .def_ro("name", &EntryReport::name)
      .def_ro("collectives", &EntryReport::collectives)
      .def_ro("gemms", &EntryReport::gemms)
      .def_ro("launches", &EntryReport::launches)
      .def_ro("copies", &EntryReport::copies)
      .def_ro("flops", &EntryReport::flops)
      .def_ro("memory_traffic", &EntryReport::memoryTraffic)
      .def_ro("wire_bytes", &EntryReport::wireBytes)
      .def_ro("recomputed_flops", &EntryReport::recomputedFlops)
      .def_ro("call_bytes", &EntryReport::callBytes)
      .def_ro("liveness_bytes", &EntryReport::livenessBytes)
      .def_ro("purposes", &EntryReport::purposes)
      .def_ro("peak_location", &EntryReport::peakLocation)
      .def_ro("peak", &EntryReport::peak)
      .def_ro("peak_bytes", &EntryReport::peakBytes);
  nb::class_<PaddingRecord>(m, "PaddingRecord")
      .def_ro("name", &PaddingRecord::name)
      .def_ro("dim", &PaddingRecord::dim)
      .def_ro("size", &PaddingRecord::size)
      .def_ro("shards", &PaddingRecord::shards)
      .def_ro("local_size", &PaddingRecord::localSize)
      .def_ro("bytes", &PaddingRecord::bytes);
  nb::class_<PlanReport>(m, "PlanReport")
      .def_ro("entries", &PlanReport::entries)
      .def_ro("padding", &PlanReport::padding)
      .def_ro("state_bytes", &PlanReport::stateBytes)
      .def_ro("constant_bytes", &PlanReport::constantBytes)
      .def_ro("arena_bytes", &PlanReport::arenaBytes)
      .def("__str__", &printPlanReport);
}

} // namespace weft::runtime
