//===- ModelFlops.cpp - What a call of an entry computes --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/Session.h"
#include "weft/runtime/VisitOperation.h"
#include "weft/runtime/plan_generated.h"

namespace weft::runtime {

/// Of the instructions [begin, end) of an entry, on one rank.
static double flopsOf(const plan::Entry &entry, uint32_t begin, uint32_t end) {
  double flops = 0;
  for (uint32_t at = begin; at < end; ++at) {
    const plan::Instruction &instruction = *entry.instructions()->Get(at);
    visitOperation(
        instruction,
        [&](const plan::Repeat &repeat) {
          const uint32_t last = at + repeat.instructions();
          flops += repeat.count() * flopsOf(entry, at + 1, last + 1);
          at = last;
        },
        [&](const OneOf<plan::Gemm, plan::Attention, plan::AttentionGrad,
                        plan::Convolution> auto &) {
          if (!instruction.recomputes())
            flops += static_cast<double>(instruction.flops());
        },
        [](const OneOf<plan::Launch, plan::CollectiveStart,
                       plan::CollectiveWait, plan::Copy, plan::Sort> auto &) {
        });
  }
  return flops;
}

static double flopsOf(const plan::Entry &entry) {
  return flopsOf(entry, 0, entry.instructions()->size());
}

double modelFlops(const Plan &plan, const EntrySpec &spec) {
  const auto &entries = *plan.contents().entries();
  const plan::Entry &entry = *entries.Get(spec.number);
  const auto ranks = static_cast<double>(plan.ranks());
  if (!entry.timeline())
    return ranks * flopsOf(entry);
  const auto &rows = *entry.timeline()->rows();
  double flops = 0;
  for (const plan::TimelineRow *row : rows)
    for (const plan::Action *action : *row->actions())
      if (action->kind() == plan::ActionKind::Run)
        flops += ranks / rows.size() * flopsOf(*entries.Get(action->index()));
  return flops;
}

} // namespace weft::runtime
