//===- StageRules.cpp - Rules of programs cut into pipeline stages --------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a stage does with a micro-batch comes in three passes: forward, input
// gradients, weight gradients. The forward pass of a stage comes behind those
// of the stages before; its input gradients behind those of the stages that
// follow. A value may be used where that order puts its user behind it.
//
//===----------------------------------------------------------------------===//

#include "weft/IR/FormRules.h"
#include "weft/IR/Microbatches.h"
#include "weft/IR/Origin.h"
#include "weft/IR/StagePipeline.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;

namespace {

/// Where an op is computed in a step.
struct StagePosition {
  int64_t stage;
  StagePass pass;
};

} // namespace

static StringRef nameOf(StagePass pass) {
  switch (pass) {
  case StagePass::None:
    return "once a step";
  case StagePass::Forward:
    return "in the forward pass";
  case StagePass::InputGradient:
    return "among the input gradients";
  case StagePass::WeightGradient:
    return "among the weight gradients";
  }
  llvm_unreachable("all passes are covered");
}

static StagePosition positionOf(Operation *op) {
  return {stageOf(getOrigin(op)), stagePassOf(getOrigin(op))};
}

/// Whether every schedule computes `from` before `to`, for one micro-batch.
static bool comesBefore(StagePosition from, StagePosition to) {
  if (from.stage == to.stage)
    return from.pass <= to.pass;
  if (from.pass == StagePass::Forward)
    // From the forward pass of the last stage on, all is on the way back.
    return from.stage < to.stage || to.pass != StagePass::Forward;
  return from.pass == StagePass::InputGradient && from.stage > to.stage &&
         to.pass != StagePass::Forward;
}

static void checkOp(Operation &op, int64_t count,
                    const Microbatches &microbatches, FormCheck &check) {
  StagePosition position = positionOf(&op);
  if (position.stage < 0 || position.stage >= count) {
    check.error(op.getLoc())
        << op.getName() << " must be of a stage from 0 to " << count - 1
        << ", got " << position.stage << "; run --weft-assign-stages";
    return;
  }
  bool isInLoop = bool(microbatches.loopOf(&op));
  if (isInLoop != (position.pass != StagePass::None)) {
    check.error(op.getLoc())
        << op.getName() << " is computed "
        << (isInLoop ? "for each micro-batch" : "once a step")
        << ", but its stage computes it " << nameOf(position.pass)
        << "; run --weft-assign-stages";
    return;
  }
  for (Value operand : isa<BarrierOp>(op) ? op.getOperands().take_front(1)
                                          : ValueRange(op.getOperands())) {
    Operation *definer = operand.getDefiningOp();
    if (!isInLoop || !definer || !microbatches.loopOf(definer))
      continue;
    if (StagePosition from = positionOf(definer); !comesBefore(from, position))
      check.error(op.getLoc())
          << op.getName() << " of stage " << position.stage << ", "
          << nameOf(position.pass) << ", uses a value that stage " << from.stage
          << " computes " << nameOf(from.pass)
          << ", which may be later; run --weft-assign-stages";
  }
}

/// What the module says of the pipeline that its stages are of.
static void checkPipeline(ModuleOp module, FormCheck &check) {
  Attribute attribute = module->getAttr(kPipelineAttrName);
  if (!attribute)
    return;
  auto error = [&] {
    return check.error(module.getLoc()) << kPipelineAttrName;
  };
  std::optional<StagePipeline> pipeline = getPipeline(module);
  auto stages = module->getAttrOfType<IntegerAttr>(kStagesAttrName);
  if (!pipeline) {
    error() << " must have strings: axis, and schedule, table or both, and may "
               "have a bool own_copies, got "
            << attribute;
    return;
  }
  if (!stages)
    error() << " needs " << kStagesAttrName << ", the number of stages";
  if (pipeline->schedule == "auto" && pipeline->table.empty())
    error() << " has schedule \"auto\" without the table that was chosen";
  MeshOp mesh = findMesh(module);
  auto hasAxis = [&](MeshAxisAttr axis) {
    return axis.getName() == pipeline->axis;
  };
  if (!mesh || llvm::none_of(mesh.getMesh().getAxes(), hasAxis))
    error() << " has axis \"" << pipeline->axis
            << "\", which is no axis of a mesh of the module";
}

void weft::checkStages(ModuleOp module, FormCheck &check) {
  checkPipeline(module, check);
  auto count = module->getAttrOfType<IntegerAttr>(kStagesAttrName);
  for (func::FuncOp function : findPrograms(module)) {
    Block &block = function.front();
    bool isCut = llvm::any_of(
        block, [](Operation &op) { return stageOf(getOrigin(&op)) >= 0; });
    if (!isCut)
      continue;
    if (!count) {
      check.error(function.getLoc())
          << "@" << function.getSymName() << " is cut into stages, but the "
          << "module has no " << kStagesAttrName
          << ", their number; run --weft-assign-stages";
      continue;
    }
    Microbatches microbatches(block);
    for (Operation &op : block.without_terminator())
      if (!isa<arith::ConstantOp>(op))
        checkOp(op, count.getInt(), microbatches, check);
  }
}
