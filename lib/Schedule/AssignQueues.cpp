//===- AssignQueues.cpp - Collectives that run beside each other ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/EntryBuffers.h"
#include "weft/Schedule/OverlapOrder.h"
#include "weft/Schedule/Passes.h"

#include "weft/IR/ClusterCost.h"
#include "weft/Schedule/StepCost.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft {
#define GEN_PASS_DEF_ASSIGNQUEUES
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

namespace {
struct AssignQueues : weft::impl::AssignQueuesBase<AssignQueues> {
  using AssignQueuesBase::AssignQueuesBase;

  void runOnInput() override {
    FailureOr<cost::CostModel> model = loadCostModel(getOperation(), cluster);
    FailureOr<ProgramStates> states = ProgramStates::collect(getOperation());
    if (failed(model) || failed(states))
      return signalPassFailure();
    for (func::FuncOp entry : findEntries(getOperation()))
      assign(entry, *states, *model);
  }

  void assign(func::FuncOp entry, const ProgramStates &states,
              const cost::CostModel &model);
};
} // namespace

void AssignQueues::assign(func::FuncOp entry, const ProgramStates &states,
                          const cost::CostModel &model) {
  const EntryBuffers buffers(entry, states, ResultBinding::Bound);
  SmallVector<StartOp> starts;
  std::vector<CollectiveSpan> spans;
  entry.walk([&](StartOp start) {
    starts.push_back(start);
    spans.push_back({int32_t(callOf(start, model).group.level),
                     buffers.beginOf(start), buffers.endOf(start)});
  });
  auto one = IntegerAttr::get(IntegerType::get(&getContext(), 64), 1);
  for (auto [start, isSecond] : llvm::zip_equal(starts, findSecondQueue(spans)))
    if (isSecond) {
      start->setAttr(queueAttrName, one);
      ++second;
    }
}
