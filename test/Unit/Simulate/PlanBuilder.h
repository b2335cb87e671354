//===- PlanBuilder.h - Plans for tests of the simulator ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the simulator reads of a plan, and nothing else:
//
//   PlanBuilder plan({{"data", 8}});
//   plan::EntryT &step = plan.entry("step");
//   plan.gemm(step, 4096);
//   plan.allReduce(step, 0, 1 << 20);
//   predict(plan.build(), ...);
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_SIMULATE_PLANBUILDER_H
#define WEFT_TEST_SIMULATE_PLANBUILDER_H

#include "weft/Cost/Placement.h"
#include "weft/Timeline/Table.h"
#include "weft/runtime/plan_generated.h"

#include <map>

namespace weft::simulate {

class PlanBuilder {
public:
  explicit PlanBuilder(const std::vector<cost::MeshAxis> &mesh);

  plan::EntryT &entry(const std::string &name);
  /// The number of the instruction.
  uint32_t gemm(plan::EntryT &entry, int64_t size);
  /// Of so many bytes, each read and written.
  uint32_t kernel(plan::EntryT &entry, int64_t bytes);
  /// Over one axis; returns the id.
  uint32_t start(plan::EntryT &entry, plan::CollectiveKind kind, uint32_t axis,
                 int64_t bytes);
  void wait(plan::EntryT &entry, uint32_t id);
  void repeat(plan::EntryT &entry, uint32_t count, uint32_t instructions);

  /// A table with transfers, as the entry "step" along the first axis. Every
  /// micro-batch has a slot of its own; updates use what the reductions of
  /// their role leave. Returns segments, by stage and kind.
  using Segments =
      std::map<std::pair<int32_t, timeline::ActionKind>, plan::EntryT *>;
  Segments pipeline(const timeline::Table &table, int32_t microbatches,
                    uint64_t messageBytes);

  const plan::Plan &build();
  const plan::Entry &built(const std::string &name);

  plan::PlanT table;

private:
  plan::InstructionT &add(plan::EntryT &entry);
  uint32_t buffer(plan::EntryT &entry, int64_t bytes);
  uint32_t state(uint32_t role, const std::string &name, uint32_t slots,
                 uint64_t bytes);

  flatbuffers::FlatBufferBuilder bytes;
};

} // namespace weft::simulate

#endif // WEFT_TEST_SIMULATE_PLANBUILDER_H
