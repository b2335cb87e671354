//===- ProgramRules.cpp - Rules of forms 3 and 4 --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules of the SPMD program (form 3) and of the schedule (form 4).
//
//===----------------------------------------------------------------------===//

#include "weft/IR/BufferParts.h"
#include "weft/IR/FormRules.h"
#include "weft/IR/Microbatches.h"
#include "weft/IR/Segments.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Sharding/Padding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// SPMD program
//===----------------------------------------------------------------------===//

/// Ops of arith, math and weft that compute with parts; convolutions are
/// lowered among them, before matmuls are.
static bool isLocalOp(Operation *op) {
  return isOfProgramDialect(op) && !getBorder(op) &&
         (isa<ShardingRuleOpInterface, AllSliceOp, PositionOp, ConvolveOp>(
              op) ||
          (isa<CommunicationOpInterface>(op) && !isStart(op)));
}

/// Loops, and what ends blocks.
static bool isStructural(Operation *op) {
  return isa<RepeatOp, YieldOp, func::ReturnOp>(op);
}

/// Calls `check` for the ops of the programs, those in loops too, but not for
/// loops themselves.
static void checkEach(ModuleOp module,
                      llvm::function_ref<void(Operation *)> check) {
  for (func::FuncOp function : findPrograms(module))
    function.getBody().walk([&](Operation *op) {
      if (!isStructural(op))
        check(op);
    });
}

/// Reports `op` if it is none of an SPMD program.
static void checkLocalOp(Operation *op, FormCheck &check) {
  if (op->hasAttr(WeftDialect::kShardingsAttrName))
    check.error(op->getLoc())
        << op->getName()
        << " still has weft.shardings, but its type is that of a shard";
  else if (isa<ConstraintOp, ReshardOp>(op))
    check.error(op->getLoc())
        << op->getName()
        << " is left; run --weft-localize, which makes collectives of it";
  else if (getBorder(op))
    check.error(op->getLoc())
        << op->getName() << " is left; run --weft-form-microbatch-loops before";
  else if (!isLocalOp(op))
    check.error(op->getLoc())
        << "an SPMD program holds ops of arith and math, tensor ops and "
           "collectives of weft, got "
        << op->getName();
}

void weft::checkLocalOps(ModuleOp module, FormCheck &check) {
  checkEach(module, [&](Operation *op) { checkLocalOp(op, check); });
}

/// Checks the local type of an argument or result against its global type and
/// sharding.
static void verifyLocalType(Location loc, const Twine &what, Type local,
                            RankedTensorType global, ShardingAttr attr,
                            MeshOp meshOp, FormCheck &check) {
  sharding::Mesh mesh = meshOp.getMesh().toMesh();
  FailureOr<sharding::Sharding> sharding = attr.toSharding(mesh);
  if (failed(sharding))
    return;
  auto tensor = dyn_cast<RankedTensorType>(local);
  if (tensor && tensor.getElementType() == global.getElementType() &&
      sharding::isLocalShape(mesh, tensor.getShape(), global.getShape(),
                             *sharding))
    return;
  sharding::Shape least;
  for (auto [size, dim] : llvm::zip_equal(global.getShape(), sharding->dims)) {
    int64_t shards = numShards(dim.axes);
    least.push_back(sharding::paddedSize(size, shards) / shards);
  }
  check.error(loc) << what << " must have type " << global.clone(least)
                   << ", the part of " << global << " under " << attr
                   << ", got " << local;
}

void weft::checkLocalTypes(ModuleOp module, FormCheck &check) {
  SmallVector<func::FuncOp> functions = findPrograms(module);
  llvm::append_range(functions, findTimelines(module));
  for (func::FuncOp function : functions) {
    auto verify = [&](Location loc, const Twine &what, Type local,
                      TypeAttr globalAttr, ShardingAttr sharding) {
      auto global = globalAttr
                        ? dyn_cast<RankedTensorType>(globalAttr.getValue())
                        : RankedTensorType();
      MeshOp mesh = findMesh(module);
      // What only segments know of is a part that no one sees the whole of.
      if (getSegment(function) && !sharding && !globalAttr)
        return;
      if (!sharding || !mesh)
        check.error(loc) << what << " has no weft.sharding";
      else if (!global)
        check.error(loc) << what << " has no weft.global_type";
      else
        verifyLocalType(loc, what, local, global, sharding, mesh, check);
    };
    StringRef global = WeftDialect::kGlobalTypeAttrName;
    std::string of = (" of @" + function.getSymName()).str();
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      verify(function.isExternal() ? function.getLoc()
                                   : function.getArgument(index).getLoc(),
             "argument " + Twine(index) + of, type,
             function.getArgAttrOfType<TypeAttr>(index, global),
             function.getArgAttrOfType<ShardingAttr>(
                 index, WeftDialect::kShardingAttrName));
    for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
      verify(function.getLoc(), "result " + Twine(index) + of, type,
             function.getResultAttrOfType<TypeAttr>(index, global),
             getResultSharding(function, index));
  }
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

/// Beside instructions: a reshape is a view, a concat and a slice are of parts
/// of buffers, a constant is a buffer filled when the plan is loaded.
void weft::checkScheduleOps(ModuleOp module, FormCheck &check) {
  checkEach(module, [&](Operation *op) {
    if (isPartView(op) && !findParts(op))
      check.error(op->getLoc())
          << op->getName() << " of a schedule takes or makes a buffer whose "
          << "parts lie in one piece each";
    else if (!isa<InstructionOpInterface, ReshapeOp, arith::ConstantOp>(op) &&
             !isPartView(op))
      check.error(op->getLoc())
          << "a schedule holds instructions of a plan, reshapes and "
             "constants, got "
          << op->getName();
  });
}

void weft::checkGemmOps(ModuleOp module, FormCheck &check) {
  checkEach(module, [&](Operation *op) {
    if (isa<DotGeneralOp>(op))
      check.error(op->getLoc())
          << "weft.dot_general is left; run --weft-lower-gemms before";
    else if (!isa<GemmOp>(op))
      checkLocalOp(op, check);
  });
}

void weft::checkInstructionOps(ModuleOp module, FormCheck &check) {
  checkEach(module, [&](Operation *op) {
    if (!isLocalOp(op) && !isa<LaunchOp, GemmOp>(op))
      check.error(op->getLoc())
          << "expected launches, GEMMs, tensor ops and collectives, got "
          << op->getName();
  });
}

void weft::checkWaits(ModuleOp module, FormCheck &check) {
  for (func::FuncOp function : findPrograms(module))
    function.walk([&](StartOp start) {
      auto waits = llvm::count_if(
          start->getUsers(), [](Operation *op) { return isa<WaitOp>(op); });
      if (waits != 1)
        check.error(start.getLoc())
            << "a weft.start needs exactly one weft.wait, got " << waits;
    });
}
