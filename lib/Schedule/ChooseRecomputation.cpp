//===- ChooseRecomputation.cpp - Recompute where the schedule gains -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What recomputation is worth depends on the kernels that are made and on the
// order of what is sent. Both are made with and without it, and compared.
//
//===----------------------------------------------------------------------===//

#include "ScheduleCost.h"

#include "weft/Schedule/Passes.h"
#include "weft/Schedule/RecomputationReport.h"

#include "weft/IR/ClusterCost.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

namespace weft {
#define GEN_PASS_DEF_CHOOSERECOMPUTATION
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// Ops of a program up to which a second copy is tried where the first one
/// loses: making kernels and their order is half of what follows shardings.
static constexpr size_t mostOpsOfTwoCopies = 32768;

/// What is recomputed. Without small values kernels of norms stay whole.
enum class Recomputation { None, All, OnlyLarge };

namespace {

struct Candidate {
  /// Null if it recomputes nothing.
  OwningOpRef<ModuleOp> module;
  std::vector<ScheduleCost> costs;
};

struct ChooseRecomputation
    : weft::impl::ChooseRecomputationBase<ChooseRecomputation> {
  using ChooseRecomputationBase::ChooseRecomputationBase;

  void runOnInput() override;

private:
  LogicalResult run(const cost::CostModel &model);
  FailureOr<Candidate> choose(const cost::CostModel &model);
  LogicalResult tighten(const cost::CostModel &model, Candidate &best);
  FailureOr<Candidate> schedule(const cost::CostModel &model,
                                Recomputation what, bool holdsMore = true);
  LogicalResult scheduleCopy(ModuleOp copy, Recomputation what, bool holdsMore,
                             bool &recomputes);
  OpPassManager scheduling(bool holdsMore = true) const;
  bool isShort(ArrayRef<ScheduleCost> costs) const;
  bool isPreferred(ArrayRef<ScheduleCost> costs,
                   ArrayRef<ScheduleCost> before) const;
};

} // namespace

/// `holdsMore`: the order may hold more for the sake of overlap.
OpPassManager ChooseRecomputation::scheduling(bool holdsMore) const {
  OpPassManager pm(ModuleOp::getOperationName());
  pm.addPass(createFuseKernels());
  // Before the order is made: it keeps near the one it is given.
  pm.addPass(createHoistReleases());
  StartCollectivesOptions order;
  order.overlapCollectives = overlapCollectives;
  order.cluster = cluster;
  if (!holdsMore)
    order.arenaGrowth = 0;
  pm.addPass(createStartCollectives(order));
  return pm;
}

LogicalResult ChooseRecomputation::scheduleCopy(ModuleOp copy,
                                                Recomputation what,
                                                bool holdsMore,
                                                bool &recomputes) {
  if (what != Recomputation::None) {
    OpPassManager pm(ModuleOp::getOperationName());
    pm.addPass(
        createRecomputeInKernels({what == Recomputation::OnlyLarge, cluster}));
    if (failed(runPipeline(pm, copy)))
      return failure();
    recomputes = !printRecomputationReports(copy).empty();
    if (!recomputes)
      return success();
  }
  OpPassManager pm = scheduling(holdsMore);
  return runPipeline(pm, copy);
}

/// A copy of the program with its kernels in order.
FailureOr<Candidate> ChooseRecomputation::schedule(const cost::CostModel &model,
                                                   Recomputation what,
                                                   bool holdsMore) {
  Candidate candidate{getOperation().clone(), {}};
  ModuleOp copy = *candidate.module;
  // Passes run on what is nested.
  getOperation().push_back(copy);
  bool recomputes = true;
  LogicalResult ran = scheduleCopy(copy, what, holdsMore, recomputes);
  copy->remove();
  if (failed(ran))
    return failure();
  if (!recomputes)
    return Candidate();
  auto costs = costsOf(copy, model);
  if (failed(costs))
    return failure();
  candidate.costs = std::move(*costs);
  return candidate;
}

static bool isLarge(ModuleOp program) {
  size_t ops = 0;
  program.walk([&](Operation *) { ++ops; });
  return ops > mostOpsOfTwoCopies;
}

/// Whether a schedule is above the limit, as far as is known.
bool ChooseRecomputation::isShort(ArrayRef<ScheduleCost> costs) const {
  return memoryLimit && mostBytes(costs) > memoryLimit;
}

bool ChooseRecomputation::isPreferred(ArrayRef<ScheduleCost> costs,
                                      ArrayRef<ScheduleCost> before) const {
  if (isShort(costs) || isShort(before))
    return mostBytes(costs) < mostBytes(before);
  return isBetter(costs, before);
}

/// With as much recomputation as is preferred; null if there is nothing to
/// recompute.
FailureOr<Candidate> ChooseRecomputation::choose(const cost::CostModel &model) {
  FailureOr<Candidate> plain = Candidate();
  Candidate best;
  for (auto what : {Recomputation::All, Recomputation::OnlyLarge}) {
    FailureOr<Candidate> candidate = schedule(model, what);
    if (failed(candidate))
      return failure();
    if (!candidate->module)
      break;
    if (!plain->module && failed(plain = schedule(model, Recomputation::None)))
      return failure();
    const int64_t bytes = mostBytes(candidate->costs),
                  before = mostBytes(plain->costs);
    const bool isLess = bytes < before,
               isSlower = takesLonger(candidate->costs, plain->costs);
    // To hold more is no reason to recompute, not even if that is faster.
    if (bytes <= before &&
        isPreferred(candidate->costs, best.module ? best.costs : plain->costs))
      best = std::move(*candidate);
    // Where all of it spares nothing, less of it does not, and where all of it
    // takes no time, less of it gains none.
    if (!isLess || !isSlower || isLarge(getOperation()))
      break;
  }
  if (!best.module)
    return plain;
  ++recomputing;
  return best;
}

/// What is above the limit in an order that holds no more for the sake of
/// overlap, if that is less.
LogicalResult ChooseRecomputation::tighten(const cost::CostModel &model,
                                           Candidate &best) {
  if (!best.module) {
    FailureOr<Candidate> plain = schedule(model, Recomputation::None);
    if (failed(plain))
      return failure();
    best = std::move(*plain);
  }
  if (!isShort(best.costs))
    return success();
  for (auto what : {Recomputation::All, Recomputation::None}) {
    FailureOr<Candidate> candidate = schedule(model, what, /*holdsMore=*/false);
    if (failed(candidate))
      return failure();
    if (candidate->module &&
        mostBytes(candidate->costs) < mostBytes(best.costs))
      best = std::move(*candidate);
  }
  return success();
}

LogicalResult ChooseRecomputation::run(const cost::CostModel &model) {
  FailureOr<Candidate> best = choose(model);
  if (failed(best) ||
      (memoryLimit && overlapCollectives && failed(tighten(model, *best))))
    return failure();
  if (best->module) {
    getOperation().getBodyRegion().takeBody(best->module->getBodyRegion());
    return success();
  }
  OpPassManager pm = scheduling();
  return runPipeline(pm, getOperation());
}

void ChooseRecomputation::runOnInput() {
  FailureOr<cost::CostModel> model = loadCostModel(getOperation(), cluster);
  if (failed(model) || failed(run(*model)))
    signalPassFailure();
}
