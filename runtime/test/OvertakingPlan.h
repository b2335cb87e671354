//===- OvertakingPlan.h - A collective that overtakes another ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_OVERTAKINGPLAN_H
#define WEFT_RUNTIME_TEST_OVERTAKINGPLAN_H

#include "PlanBuilder.h"

namespace weft::runtime {

/// Two gradients that nobody waits for until the end, where the first is used,
/// and a sum in between that the rest of the computation needs at once: #1
/// overtakes #0, which is in the second queue.
struct OvertakingPlan : PlanBuilder {
  explicit OvertakingPlan(int64_t ranks) : PlanBuilder({{"data", ranks}}) {
    const uint32_t data = group({"data"});
    EntryBuilder step = entry("step");
    const uint32_t x =
        step.input("x", type(DType::F32, {16 * ranks}, {{"data"}}));
    const auto sum = type(DType::F32, {16});
    const uint32_t b = step.input("b", sum);
    const uint32_t slow = step.output("slow", sum);
    const uint32_t last = step.output("last", sum);
    const uint32_t y = step.output("y", sum);
    const uint32_t norm = step.output("norm", type(DType::F32, {}));
    const uint32_t t = step.temporary(DType::F32, {16});
    const uint32_t urgent = step.temporary(DType::F32, {16});
    step.start(plan::CollectiveKind::AllReduce, data, x, slow, 1, 16).queue = 1;
    step.launch("add", {{x, read}, {b, read}, {t, write}});
    step.start(plan::CollectiveKind::AllReduce, data, t, urgent, 1, 16);
    step.wait(1);
    step.launch("add", {{urgent, read}, {x, read}, {t, write}});
    step.start(plan::CollectiveKind::AllReduce, data, t, last, 1, 16);
    step.launch("add", {{urgent, read}, {b, read}, {y, write}});
    step.wait(0);
    step.launch("total", {{slow, read}, {norm, write}});
    step.wait(2);
    step.table().arena_bytes = table.arena_bytes;
    step.table().liveness_bytes = table.arena_bytes;
  }
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_OVERTAKINGPLAN_H
