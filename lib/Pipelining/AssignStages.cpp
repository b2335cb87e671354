//===- AssignStages.cpp - Say which stage computes each op ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "weft/Pipelining/Passes.h"

#include "weft/IR/Origin.h"
#include "weft/IR/StageParameters.h"
#include "weft/IR/StagePipeline.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Timeline/Counted.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

namespace weft {
#define GEN_PASS_DEF_ASSIGNSTAGES
#include "weft/Pipelining/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;
using timeline::counted;

static bool hasBoundaries(func::FuncOp function) {
  return function.isPublic() && function.getBody().hasOneBlock() &&
         !function.front().getOps<StageBoundaryOp>().empty();
}

static void eraseBoundaries(Block &block) {
  for (auto op : llvm::make_early_inc_range(block.getOps<StageBoundaryOp>())) {
    op.replaceAllUsesWith(op.getOperand());
    op.erase();
  }
}

/// Cotangents that depend on no micro-batch, as that of a loss that is only
/// added to another one, are known to every stage.
static void eraseKnownCotangents(Block &block) {
  Microbatches microbatches(block);
  for (auto op : llvm::make_early_inc_range(block.getOps<StageBoundaryOp>()))
    if (op.getOf() && !microbatches.loopOf(op.getOperand())) {
      op.replaceAllUsesWith(op.getOperand());
      op.erase();
    }
}

//===----------------------------------------------------------------------===//
// What cannot be a pipeline
//===----------------------------------------------------------------------===//

/// Whether an entry computes nothing for micro-batches, and no gradients that
/// should be: it initializes or evaluates what others train.
static bool isWithoutLoop(func::FuncOp entry) {
  return entry.isPublic() && entry.getBody().hasOneBlock() &&
         !Microbatches(entry.front()).any() &&
         llvm::none_of(entry.front().getOps<StageBoundaryOp>(),
                       [](StageBoundaryOp op) { return bool(op.getOf()); });
}

static LogicalResult checkLoop(func::FuncOp entry) {
  Block &block = entry.front();
  Microbatches microbatches(block);
  StageBoundaryOp first = *block.getOps<StageBoundaryOp>().begin();
  if (microbatches.getLoops().size() != 1)
    return first.emitError()
           << "the stages of a pipeline work on one loop over micro-batches, "
           << "but @" << entry.getSymName() << " has "
           << (microbatches.any()
                   ? std::to_string(microbatches.getLoops().size())
                   : "none")
           << "; say how many micro-batches the pipeline has, or put "
              "weft.microbatches around the function that is differentiated, "
              "once, or in JAX a lax.scan that adds up gradients";
  bool legal = true;
  for (auto op : block.getOps<StageBoundaryOp>())
    if (!microbatches.loopOf(op.getOperation())) {
      op.emitError("a stage boundary is outside of the loop over "
                   "micro-batches; put it between two layers of the model");
      legal = false;
    }
  return success(legal);
}

/// Whether an entry is like one of a pipeline, though nobody asked for one.
static bool canBeCut(func::FuncOp entry) {
  Microbatches microbatches(entry.front());
  return microbatches.getLoops().size() == 1 &&
         llvm::all_of(entry.front().getOps<StageBoundaryOp>(),
                      [&](StageBoundaryOp op) {
                        return bool(microbatches.loopOf(op.getOperation()));
                      });
}

FailureOr<int64_t> weft::findPipelineRanks(Operation *from, StringRef axis) {
  MeshOp meshOp = findMesh(from);
  if (!meshOp)
    return emitError(from->getLoc())
           << "a pipeline needs a mesh with an axis of its own, but the module "
              "declares none";
  sharding::Mesh mesh = meshOp.getMesh().toMesh();
  std::string known;
  for (const sharding::MeshAxis &each : mesh.axes()) {
    if (each.name == axis)
      return each.size;
    known += (known.empty() ? "\"" : ", \"") + each.name + "\"";
  }
  return meshOp.emitError() << "the mesh has no axis \"" << axis
                            << "\" for the pipeline; its axes are " << known;
}

/// Whether the axis of the pipeline splits nothing of an entry.
static LogicalResult checkAxis(func::FuncOp entry, StringRef axis) {
  bool legal = true;
  auto mentions = [&](Attribute attribute) {
    return attribute && attribute
                            .walk([&](AxisRefAttr ref) {
                              return ref.getName() == axis
                                         ? WalkResult::interrupt()
                                         : WalkResult::advance();
                            })
                            .wasInterrupted();
  };
  auto check = [&](Attribute sharding, const Twine &what,
                   std::optional<Location> loc = {}) {
    if (!mentions(sharding))
      return;
    legal = false;
    emitError(loc.value_or(entry.getLoc()))
        << what << " is split over the axis of the pipeline, \"" << axis
        << "\", along which there are stages; use "
        << "another axis for shardings";
  };
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    check(getSharding(entry.getArgument(i)),
          "argument \"" + getArgumentName(entry, i) + "\"");
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    check(getResultSharding(entry, i),
          "result \"" + getResultName(entry, i) + "\"");
  if (legal)
    for (Operation &op : entry.front())
      check(op.getAttrDictionary(), "a value of " + op.getName().getStringRef(),
            op.getLoc());
  return success(legal);
}

/// `ranks`: those that have equal numbers of stages, where these numbers follow
/// from the boundaries; else 0.
static LogicalResult checkCount(func::FuncOp entry, int64_t wanted,
                                int64_t ranks = 0) {
  int64_t count = countStages(entry.front());
  if (count == wanted)
    return success();
  auto error = emitError(entry.getLoc())
               << "@" << entry.getSymName() << " has "
               << counted(count - 1, "stage boundary", "stage boundaries")
               << (count == 2 ? ", which makes " : ", which make ")
               << counted(count, "stage") << ", but the pipeline has " << wanted
               << "; " << (count < wanted ? "add " : "remove ")
               << std::abs(wanted - count);
  if (ranks && ranks < count && count < wanted)
    error << ", or remove " << count % ranks << " for "
          << counted(count - count % ranks, "stage");
  for (auto op : entry.front().getOps<StageBoundaryOp>())
    if (!op.getOf())
      error.attachNote(op.getLoc()) << "a boundary";
  return error;
}

namespace {

/// A boundary of the way forward, and the stage behind it.
struct PlacedBoundary {
  Location loc;
  int64_t begins;
};

} // namespace

static SmallVector<PlacedBoundary> findPlaced(Block &block,
                                              const Stages &stages) {
  SmallVector<PlacedBoundary> boundaries;
  for (auto op : block.getOps<StageBoundaryOp>())
    if (auto begun = stages.begins.find(op); begun != stages.begins.end())
      boundaries.push_back({op.getLoc(), begun->second});
  return boundaries;
}

static LogicalResult checkParameters(func::FuncOp entry, int64_t count,
                                     ArrayRef<PlacedBoundary> boundaries) {
  StageSet with = findStagesWithParameter(entry, count);
  if (with.all())
    return success();
  int64_t empty = with.find_first_unset();
  auto error = emitError(entry.getLoc())
               << "stage " << empty << " of @" << entry.getSymName()
               << " uses no parameter; move or remove a boundary before or "
                  "behind it";
  for (const PlacedBoundary &boundary : boundaries)
    if (boundary.begins == empty || boundary.begins == empty + 1)
      error.attachNote(boundary.loc)
          << (boundary.begins == empty ? "it begins here" : "it ends here");
  return error;
}

static void addResultNames(func::FuncOp entry, llvm::StringSet<> &names) {
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    names.insert(getResultName(entry, i));
}

/// What an entry changes for the others.
static llvm::StringSet<> findStates(ModuleOp module) {
  llvm::StringSet<> names;
  for (auto entry : module.getOps<func::FuncOp>())
    if (entry.isPublic())
      addResultNames(entry, names);
  return names;
}

/// The stages that use the states of an entry.
static StateStages stagesOfStates(func::FuncOp entry, int64_t count,
                                  const llvm::StringSet<> &states) {
  StateStages own;
  for (BlockArgument argument : entry.getArguments()) {
    std::string name = getArgumentName(entry, argument.getArgNumber());
    for (Operation *user : argument.getUsers())
      if (int64_t stage = stageOf(getOrigin(user));
          stage >= 0 && states.contains(name))
        own.try_emplace(name, StageSet(count)).first->second.set(stage);
  }
  return own;
}

/// The stages of all states: of the first entry that changes one, or of all
/// that use it.
static StateStages findHeld(ArrayRef<func::FuncOp> entries, int64_t count,
                            const llvm::StringSet<> &states) {
  StateStages held, used;
  for (func::FuncOp entry : entries) {
    llvm::StringSet<> changed;
    addResultNames(entry, changed);
    for (auto &own : stagesOfStates(entry, count, states)) {
      if (changed.contains(own.first()))
        held.try_emplace(own.first(), own.second);
      used.try_emplace(own.first(), StageSet(count)).first->second |=
          own.second;
    }
  }
  for (auto &each : used)
    held.try_emplace(each.first(), each.second);
  return held;
}

/// Whether an entry uses states only in the stages that have them.
static LogicalResult checkHeld(func::FuncOp entry, const StateStages &held) {
  bool legal = true;
  for (BlockArgument argument : entry.getArguments()) {
    std::string name = getArgumentName(entry, argument.getArgNumber());
    auto found = held.find(name);
    for (Operation *user : argument.getUsers()) {
      int64_t stage = stageOf(getOrigin(user));
      if (found == held.end() || stage < 0 || found->second.test(stage))
        continue;
      legal = false;
      user->emitError() << "@" << entry.getSymName() << " uses \"" << name
                        << "\" in stage " << stage
                        << ", but another entry has it in stage "
                        << found->second.find_first()
                        << "; put the boundaries of both at the same places";
      break;
    }
  }
  return success(legal);
}

//===----------------------------------------------------------------------===//
// Stages as attributes
//===----------------------------------------------------------------------===//

namespace {

/// Gives every op its stage, and copies to those that several stages compute.
class Marker {
public:
  Marker(Block &block, const Stages &stages) : block(block), stages(stages) {}

  void run();
  int64_t countTransfers() const;

private:
  void place(Operation *op, int64_t stage);

  Block &block;
  const Stages &stages;
  /// What a stage computes for itself of a value.
  llvm::DenseMap<std::pair<Value, int64_t>, Value> copies;
};

} // namespace

void Marker::place(Operation *op, int64_t stage) {
  for (OpOperand &operand : op->getOpOperands())
    if (Value own = copies.lookup({operand.get(), stage}))
      operand.set(own);
  setOrigin(op, withStage(getOrigin(op), stage, stages.passes.lookup(op),
                          op->getContext()));
}

void Marker::run() {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    auto found = stages.of.find(&op);
    if (found == stages.of.end())
      continue;
    OpBuilder b(&op);
    b.setInsertionPointAfter(&op);
    int64_t first = found->second.find_first();
    for (unsigned stage : found->second.set_bits()) {
      if (stage == first)
        continue;
      Operation *copy = b.clone(op);
      for (auto [value, own] :
           llvm::zip_equal(op.getResults(), copy->getResults()))
        copies[{value, stage}] = own;
      for (OpOperand &operand : copy->getOpOperands())
        if (Value own = copies.lookup({operand.get(), stage}))
          operand.set(own);
      setOrigin(copy, withStage(getOrigin(copy), stage,
                                stages.passes.lookup(&op), op.getContext()));
    }
    place(&op, first);
  }
}

/// Values with the stages other than their own that use them.
int64_t Marker::countTransfers() const {
  llvm::DenseSet<std::pair<Value, int64_t>> sent;
  for (Operation &op : block.without_terminator())
    for (Value operand : computedFrom(&op))
      if (Operation *definer = operand.getDefiningOp();
          definer && stageOf(getOrigin(definer)) >= 0 &&
          stageOf(getOrigin(definer)) != stageOf(getOrigin(&op)))
        sent.insert({operand, stageOf(getOrigin(&op))});
  return sent.size();
}

namespace {

struct AssignStages : weft::impl::AssignStagesBase<AssignStages> {
  using AssignStagesBase::AssignStagesBase;

  void runOnInput() override {
    // A form that was printed and read again.
    if (getOperation()->hasAttr(kStagesAttrName))
      return;
    if (!axis.empty() && failed(countFromAxis()))
      return signalPassFailure();
    bool legal = true, any = false;
    int64_t most = 0;
    SmallVector<func::FuncOp> withLoop, withoutLoop, uncut;
    for (auto entry : getOperation().getOps<func::FuncOp>()) {
      if (stages && isWithoutLoop(entry)) {
        withoutLoop.push_back(entry);
        continue;
      }
      if (!hasBoundaries(entry)) {
        if (stages > 1 && entry.isPublic() && !entry.isExternal())
          uncut.push_back(entry);
        continue;
      }
      any = true;
      if (!stages && !canBeCut(entry)) {
        eraseBoundaries(entry.front());
        continue;
      }
      int64_t count = stages ? stages : countStages(entry.front());
      legal &= succeeded(assign(entry, count));
      if (stages)
        withLoop.push_back(entry);
      most = std::max(most, count);
    }
    held = findHeld(withLoop, most, findStates(getOperation()));
    for (func::FuncOp entry : withLoop)
      legal &= succeeded(checkHeld(entry, held));
    for (func::FuncOp entry : withoutLoop) {
      // One that nothing else is a pipeline beside is to be one itself.
      bool isBeside = any && most > 0;
      if (isBeside)
        legal &= succeeded(assignOnce(entry, most));
      else if (hasBoundaries(entry))
        legal &= succeeded(assign(entry, stages));
      any |= hasBoundaries(entry);
    }
    for (func::FuncOp entry : uncut)
      if (any)
        legal &= succeeded(checkCount(entry, stages));
    if (!any && stages > 1) {
      llvm::append_range(uncut, withoutLoop);
      emitError(uncut.empty() ? getOperation().getLoc()
                              : uncut.front().getLoc())
          << "a pipeline of " << stages.getValue() << " stages needs "
          << counted(stages - 1, "stage boundary", "stage boundaries")
          << ", but the program has none; put "
             "weft.stage_boundary between layers of the model, on what the "
             "loss is computed from";
      legal = false;
    }
    if (!legal)
      return signalPassFailure();
    if (most == 0)
      return;
    getOperation()->setAttr(kStagesAttrName,
                            Builder(&getContext()).getI64IntegerAttr(most));
    if (!axis.empty())
      setPipeline(getOperation(),
                  {axis, schedule, table, tableName, ownCopies});
  }

  LogicalResult countFromAxis();
  LogicalResult assign(func::FuncOp entry, int64_t count);
  LogicalResult assignOnce(func::FuncOp entry, int64_t count);

  /// The stages of the states of entries with a loop.
  StateStages held;
  /// As `ranks` of checkCount.
  int64_t equalRanks = 0;
};

} // namespace

/// As many stages as ranks and chunks make; without chunks, as boundaries do,
/// and without a table, which may give ranks different numbers of them, at
/// least so many more that all ranks have equal numbers.
LogicalResult AssignStages::countFromAxis() {
  FailureOr<int64_t> ranks = findPipelineRanks(getOperation(), axis);
  if (failed(ranks))
    return failure();
  int64_t count = 1;
  for (auto entry : getOperation().getOps<func::FuncOp>())
    if (hasBoundaries(entry))
      count = std::max(count, countStages(entry.front()));
  if (chunks) {
    count = *ranks * chunks;
  } else if (table.empty()) {
    equalRanks = *ranks;
    count = llvm::divideCeil(count, *ranks) * *ranks;
  }
  stages = count;
  return success();
}

LogicalResult AssignStages::assign(func::FuncOp entry, int64_t count) {
  Block &block = entry.front();
  eraseKnownCotangents(block);
  if (stages && (failed(checkLoop(entry)) ||
                 failed(checkCount(entry, count, equalRanks))))
    return failure();
  if (!axis.empty() && failed(checkAxis(entry, axis)))
    return failure();
  FailureOr<Stages> found = findStagesOfLoop(block, count);
  if (failed(found))
    return failure();
  findPasses(block, *found);
  findStagesOfStep(entry, *found);
  SmallVector<PlacedBoundary> boundaries = findPlaced(block, *found);
  eraseBoundaries(block);
  Marker marker(block, *found);
  marker.run();
  transfers += marker.countTransfers();
  return stages ? checkParameters(entry, count, boundaries) : success();
}

/// Assigns an entry without a loop, beside one that is a pipeline.
LogicalResult AssignStages::assignOnce(func::FuncOp entry, int64_t count) {
  Block &block = entry.front();
  if (hasBoundaries(entry) && failed(checkCount(entry, count)))
    return failure();
  if (!axis.empty() && failed(checkAxis(entry, axis)))
    return failure();
  Stages found(count);
  findStagesOfStep(entry, found, held, findStagesBehindBoundaries(block));
  eraseBoundaries(block);
  Marker marker(block, found);
  marker.run();
  transfers += marker.countTransfers();
  return checkHeld(entry, held);
}
