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
#include "weft/IR/Segments.h"
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
    SmallVector<func::FuncOp> entries = findEntries(getOperation());
    for (func::FuncOp entry : entries)
      assign(entry, *states, *model);
    passDeferred(entries);
  }

  void moveToSecond(StartOp start);
  void passDeferred(ArrayRef<func::FuncOp> entries);
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
  for (auto [start, isSecond] : llvm::zip_equal(starts, findSecondQueue(spans)))
    if (isSecond)
      moveToSecond(start);
}

void AssignQueues::moveToSecond(StartOp start) {
  if (!start->hasAttr(queueAttrName))
    ++second;
  start->setAttr(queueAttrName,
                 IntegerAttr::get(IntegerType::get(&getContext(), 64), 1));
}

/// Micro-batches that run beside collectives of another segment do not wait in
/// their queue.
void AssignQueues::passDeferred(ArrayRef<func::FuncOp> entries) {
  llvm::SmallDenseSet<int64_t> roles;
  for (func::FuncOp entry : entries)
    if (isOfMicrobatch(entry))
      entry.walk([&](StartOp) { roles.insert(roleOf(entry)); });
  for (func::FuncOp entry : entries)
    if (canBeDeferred(entry) && roles.contains(roleOf(entry)))
      entry.walk([&](StartOp start) { moveToSecond(start); });
}
