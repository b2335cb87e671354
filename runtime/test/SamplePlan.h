//===- SamplePlan.h - A small training step built by hand -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two entries over one state, on a mesh <["data"=N]>:
//
//   init        w = [0, 1, ..., 15]
//   train_step  t = x + w; s = all_reduce(t); w = w + s; loss = sum of t
//
// x is f32[16 N], split over "data"; loss is unreduced over "data".
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_SAMPLEPLAN_H
#define WEFT_RUNTIME_TEST_SAMPLEPLAN_H

#include "PlanBuilder.h"

namespace weft::runtime {

/// The buffers of train_step by number, for tests that break them.
struct SamplePlan : PlanBuilder {
  explicit SamplePlan(int64_t ranks) : PlanBuilder({{"data", ranks}}) {
    const auto replicated = type(DType::F32, {16});
    state("w", replicated);
    const uint32_t data = group({"data"});
    EntryBuilder init = entry("init");
    init.launch("fill", {{init.state("w", false, true), write}}, {{}, {}});

    EntryBuilder step = entry("train_step");
    w = step.state("w", true, true);
    x = step.input("x", type(DType::F32, {16 * ranks}, {{"data"}}));
    t = step.temporary(DType::F32, {16});
    s = step.temporary(DType::F32, {16});
    u = step.temporary(DType::F32, {16});
    loss = step.output("loss", type(DType::F32, {}, {}, {"data"}));
    step.launch("add", {{x, read}, {w, read}, {t, write}});
    step.start(plan::CollectiveKind::AllReduce, data, t, s, 1, 16);
    step.launch("total", {{t, read}, {loss, write}});
    step.wait(0);
    step.launch("add", {{w, read}, {s, read}, {u, write}});
    step.copy(u, w);
    plan::InstructionT &reduce = *step.table().instructions[1];
    reduce.cause = "gradient of w, summed over data";
    reduce.location = "model.py:12";
    reduce.bytes = 128;
    step.table().arena_bytes = table.arena_bytes;
    step.table().liveness_bytes = table.arena_bytes;
  }

  plan::EntryT &step() { return *table.entries[1]; }
  plan::InstructionT &instruction(size_t index) {
    return *step().instructions[index];
  }

  uint32_t w, x, t, s, u, loss;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_SAMPLEPLAN_H
