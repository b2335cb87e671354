//===- RecomputeInKernels.cpp - Recompute instead of keeping --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionRewrites.h"
#include "PiecesOfSlices.h"
#include "RecomputationPlan.h"

#include "weft/Schedule/Passes.h"
#include "weft/Schedule/RecomputationReport.h"
#include "weft/Schedule/StepCost.h"

#include "weft/IR/ClusterCost.h"
#include "weft/IR/Origin.h"
#include "weft/IR/SourceLocation.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace weft {
#define GEN_PASS_DEF_RECOMPUTEINKERNELS
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// How often a block is cut: at its peak, then where the peak is now. The first
/// cut saves most; in large blocks it is the only one.
static constexpr size_t mostCuts = 8;
static constexpr size_t mostOpsOfCuts = 16384;

/// What recomputation may add to the time of a block. In a large one it is what
/// --weft-choose-recomputation accepts: a copy that is not taken takes too long
/// to make kernels of.
static constexpr double mostGrowth = 0.005, mostGrowthOfLarge = 0.001;

/// Puts what a group recomputes in front of its users. It may stand too early.
static void emit(const RecomputationGroup &group, const BlockGraph &graph) {
  OpBuilder builder(graph.ops[group.uses.begin()->first]);
  IRMapping copies;
  // Not before what its users wait for, or nothing would be saved.
  if (group.source)
    for (unsigned leaf : group.leaves) {
      Value value = graph.ops[leaf]->getResult(0);
      copies.map(value,
                 BarrierOp::create(builder, value.getLoc(), value,
                                   graph.ops[*group.source]->getResult(0)));
    }
  for (unsigned number : group.values) {
    Operation *op = graph.ops[number];
    if (isa<BarrierOp>(op)) {
      copies.map(op->getResult(0), copies.lookupOrDefault(op->getOperand(0)));
      continue;
    }
    Operation *copy = builder.clone(*op, copies);
    setOrigin(copy, withRecomputed(getOrigin(op), op->getContext()));
    copy->setLoc(derivedFrom(op->getLoc(), kRecomputationOf));
  }
  for (const auto &[user, values] : group.uses)
    for (unsigned value : values) {
      Value old = graph.ops[value]->getResult(0);
      graph.ops[user]->replaceUsesOfWith(old, copies.lookupOrDefault(old));
    }
}

namespace {

struct RecomputeInKernels
    : weft::impl::RecomputeInKernelsBase<RecomputeInKernels> {
  using RecomputeInKernelsBase::RecomputeInKernelsBase;

  void runOnInput() override {
    FailureOr<cost::CostModel> model = loadCostModel(getOperation(), cluster);
    if (failed(model))
      return signalPassFailure();
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (!entry.isExternal())
        entry.walk([&](Block *block) { lowerPeak(*block, *model); });
  }

  void lowerPeak(Block &block, const cost::CostModel &model) {
    RecomputationReport report;
    report.ops = computePiecesOfSlices(block);
    duplicateCheapOps(block);
    double left = 0;
    for (Operation &op : block)
      if (usesBuffers(&op))
        left += estimateSeconds(&op, model);
    left *= block.getOperations().size() > mostOpsOfCuts ? mostGrowthOfLarge
                                                         : mostGrowth;
    size_t seen = 0;
    for (size_t cut = 0; cut < mostCuts; ++cut) {
      BlockGraph graph(block);
      seen += graph.ops.size();
      if (cut > 0 && seen > mostOpsOfCuts)
        break;
      auto plan = planRecomputation(graph, model, left, onlyLarge);
      if (!plan)
        break;
      left -= plan->seconds;
      report.sparedBytes += plan->before - plan->after;
      for (const RecomputationGroup &group : plan->groups) {
        emit(group, graph);
        report.ops += group.values.size();
      }
      for (Operation *op : llvm::reverse(graph.ops))
        if (isOpTriviallyDead(op))
          op->erase();
      sortBehindOperands(block);
    }
    recomputed += report.ops;
    savedBytes += report.sparedBytes;
    if (report.ops)
      setRecomputationReport(block.getParentOp(), report);
  }
};

} // namespace
