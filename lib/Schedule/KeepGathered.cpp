//===- KeepGathered.cpp - Gather once for all micro-batches ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a loop gathers of parameters is the same for every micro-batch. Gathered
// in front of the loop it is sent once, but nothing of the loop runs beside it,
// and it is held whole until the loop ends. Which is faster depends on how much
// of it the loop hides: both programs are timed.
//
//===----------------------------------------------------------------------===//

#include "PieceTimes.h"

#include "weft/Schedule/Passes.h"

#include "weft/Cost/Bytes.h"
#include "weft/IR/ClusterCost.h"
#include "weft/IR/SavedTime.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>
#include <tuple>

namespace weft {
#define GEN_PASS_DEF_KEEPGATHERED
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// A share of a program's time that it must gain: less is within the error of
/// the model, and not worth the memory.
static constexpr double leastTimeSaved = 0.01;

namespace {

/// All-gathers of loops that are in front of them, and what they hold while the
/// loops run.
struct KeptGathers {
  int64_t count = 0, bytes = 0;
};

/// Moves gathers out of one loop.
class LoopGathers {
public:
  explicit LoopGathers(RepeatOp loop)
      : loop(loop), block(loop.getBlock()), builder(loop) {}

  void moveOut(KeptGathers &all);

private:
  bool isOutside(Value value) const { return value.getParentBlock() != &block; }
  bool isTheSame(Value value);
  Value copyOutside(Value value);
  void replace(CommunicationOpInterface gather, KeptGathers &all);

  RepeatOp loop;
  Block &block;
  OpBuilder builder;
  llvm::DenseMap<Value, bool> same;
  IRMapping copies;
  /// By what is gathered and how, as the backward pass gathers it again.
  std::map<std::tuple<void *, int64_t, void *>, Value> kept;
};

} // namespace

/// A value after others is the value; elsewhere only what has no effects is
/// looked at.
static bool canRepeat(Operation *op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         (isPure(op) || isa<BarrierOp>(op));
}

/// Whether a value is computed of values from outside alone, and so the same in
/// every iteration.
bool LoopGathers::isTheSame(Value value) {
  if (isOutside(value))
    return true;
  auto [found, isNew] = same.try_emplace(value, false);
  if (!isNew)
    return found->second;
  Operation *op = value.getDefiningOp();
  const bool is =
      op && canRepeat(op) &&
      (isa<BarrierOp>(op) ? isTheSame(op->getOperand(0))
                          : llvm::all_of(op->getOperands(), [&](Value operand) {
                              return isTheSame(operand);
                            }));
  return same[value] = is;
}

Value LoopGathers::copyOutside(Value value) {
  if (isOutside(value))
    return value;
  if (Value copy = copies.lookupOrNull(value))
    return copy;
  Operation *op = value.getDefiningOp();
  if (auto barrier = dyn_cast<BarrierOp>(op))
    return copyOutside(barrier.getOperand());
  for (Value operand : op->getOperands())
    copies.map(operand, copyOutside(operand));
  builder.clone(*op, copies);
  return copies.lookup(value);
}

void LoopGathers::replace(CommunicationOpInterface gather, KeptGathers &all) {
  Value operand = copyOutside(gather->getOperand(0));
  Value &whole = kept[{
      operand.getAsOpaquePointer(), *gather.getGatheredDim(),
      const_cast<void *>(Attribute(gather.getAxes()).getAsOpaquePointer())}];
  if (!whole) {
    copies.map(gather->getOperand(0), operand);
    whole = builder.clone(*gather, copies)->getResult(0);
    all.bytes += bytesOf(whole);
  }
  gather->getResult(0).replaceAllUsesWith(whole);
  gather->erase();
  ++all.count;
}

void LoopGathers::moveOut(KeptGathers &all) {
  SmallVector<CommunicationOpInterface> gathers;
  for (Operation &op : block.without_terminator()) {
    auto collective = dyn_cast<CommunicationOpInterface>(&op);
    if (collective && collective.isAllGather() &&
        isTheSame(collective->getOperand(0)))
      gathers.push_back(collective);
  }
  for (CommunicationOpInterface gather : gathers)
    replace(gather, all);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>() &&
        canRepeat(&op))
      op.erase();
}

namespace {

struct KeepGathered : weft::impl::KeepGatheredBase<KeepGathered> {
  using KeepGatheredBase::KeepGatheredBase;

  void runOnInput() override {
    FailureOr<cost::CostModel> model = loadCostModel(getOperation(), cluster);
    if (failed(model))
      return signalPassFailure();
    for (func::FuncOp function :
         llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (!function.isExternal())
        keep(function, *model);
  }

  void keep(func::FuncOp function, const cost::CostModel &model) {
    func::FuncOp copy = function.clone();
    // Where axes are looked up; replaced or gone again before names matter.
    getOperation().push_back(copy);
    KeptGathers kept;
    copy.walk([&](RepeatOp loop) { LoopGathers(loop).moveOut(kept); });
    if (kept.count > 0) {
      const double before = secondsOf(function, model),
                   seconds = secondsOf(copy, model);
      if (seconds < (1 - leastTimeSaved) * before) {
        function.getBody().takeBody(copy.getBody());
        addSavedTime(function.front(),
                     {std::to_string(kept.count) +
                          (kept.count == 1 ? " all-gather" : " all-gathers") +
                          " once for all micro-batches, which holds " +
                          printBytes(kept.bytes) + ",",
                      before, seconds});
        numKept += kept.count;
      }
    }
    copy.erase();
  }

  static double secondsOf(func::FuncOp function, const cost::CostModel &model) {
    return predictPieces(function.front(), {}, 1, model).seconds;
  }
};

} // namespace
