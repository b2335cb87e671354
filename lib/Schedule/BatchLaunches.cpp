//===- BatchLaunches.cpp - Launches of one kernel become one --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultPlacement.h"

#include "weft/Cost/GpuLimits.h"
#include "weft/IR/Origin.h"
#include "weft/IR/SourceLocation.h"
#include "weft/Schedule/ArenaPlanner.h"
#include "weft/Schedule/LaunchBatches.h"
#include "weft/Schedule/Passes.h"
#include "weft/Schedule/StepCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"

namespace weft {
#define GEN_PASS_DEF_BATCHLAUNCHES
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// What can be one launch
//===----------------------------------------------------------------------===//

/// Whether each element of the kernel's results is computed on its own. Then
/// its blocks need no workspace, which the sets of a batch would share.
static bool isElementwise(func::FuncOp kernel) {
  WalkResult walked = kernel.walk([](Operation *op) {
    auto nest = dyn_cast<linalg::LinalgOp>(op);
    bool reduces = isa<ReduceOp, ScatterAddOp>(op) ||
                   (nest && nest.getNumReductionLoops() > 0);
    return reduces ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !kernel.isExternal() && !walked.wasInterrupted();
}

/// For how many sets the parameters of a launch have room.
static int64_t countSets(LaunchOp launch) {
  int64_t positions = launch.getPositions() ? launch.getPositions()->size() : 0;
  int64_t addresses = launch.getOperands().size();
  for (unsigned result = 0; result < launch.getNumResults(); ++result)
    addresses += launch.getInPlaceOperand(result) < 0;
  int64_t room = cost::kernelParameterBytes / cost::addressBytes - positions;
  return std::clamp<int64_t>(room / std::max<int64_t>(addresses, 1), 0,
                             cost::gridRows);
}

namespace {

/// The launches of an entry that differ in their operands only.
class LaunchKinds {
public:
  explicit LaunchKinds(ModuleOp module) : symbols(module) {}

  /// The number of the launch's launchKind, or -1.
  int32_t of(LaunchOp launch);
  std::vector<int64_t> largest;

private:
  SymbolTable symbols;
  llvm::DenseMap<Attribute, bool> elementwise;
  llvm::MapVector<Attribute, int32_t> numbers;
};

} // namespace

int32_t LaunchKinds::of(LaunchOp launch) {
  auto [known, isNew] = elementwise.try_emplace(launch.getKernelAttr());
  if (isNew)
    known->second =
        isElementwise(symbols.lookup<func::FuncOp>(launch.getKernel()));
  if (!known->second || launch.getBatch() != 1)
    return -1;
  Builder b(launch.getContext());
  auto orNothing = [&](Attribute attr) {
    return attr ? attr : Attribute(b.getUnitAttr());
  };
  // What runs again, and what belongs to a backward pass, is told apart in
  // tables: a batch is one or the other.
  Attribute key = b.getArrayAttr(
      {launch.getKernelAttr(), orNothing(launch.getPositionsAttr()),
       orNothing(launch.getInPlaceAttr()),
       b.getBoolAttr(isBackward(getOrigin(launch))),
       b.getBoolAttr(isRecomputed(getOrigin(launch)))});
  auto [launchKind, isFirst] = numbers.insert({key, numbers.size()});
  if (isFirst)
    largest.push_back(countSets(launch));
  return launchKind->second;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// What `op` reads and writes, by number of the buffer.
static void addTouches(BatchStep &step, Operation *op,
                       const EntryBuffers &buffers) {
  for (Value operand : op->getOperands())
    step.reads.push_back(buffers.bufferOf(operand));
  for (Value result : op->getResults())
    step.writes.push_back(buffers.bufferOf(result));
}

static BatchStep makeStep(Operation *op, const EntryBuffers &buffers,
                          LaunchKinds &kinds) {
  BatchStep step;
  step.seconds = isa<StartOp, WaitOp>(op) ? 0 : estimateSeconds(op);
  addTouches(step, op, buffers);
  if (auto launch = dyn_cast<LaunchOp>(op))
    step.launchKind = kinds.of(launch);
  if (isa<StartOp>(op))
    step.kind = BatchStep::Kind::Starts;
  if (auto wait = dyn_cast<WaitOp>(op)) {
    step.kind = BatchStep::Kind::Waits;
    addTouches(step, wait.getPending().getDefiningOp(), buffers);
  }
  return step;
}

static BatchBuffer makeBuffer(const EntryBuffer &buffer) {
  // States and constants have places of their own.
  bool isShared = !buffer.values.empty() && buffer.kind != BufferKind::State &&
                  buffer.kind != BufferKind::Constant;
  return {isShared ? alignedBytes(buffer.bytes) : 0,
          buffer.kind == BufferKind::Input, buffer.kind == BufferKind::Output};
}

//===----------------------------------------------------------------------===//
// The new order
//===----------------------------------------------------------------------===//

static void createBatch(OpBuilder &b, ArrayRef<LaunchOp> launches) {
  SmallVector<Location> locations, ofResults;
  SmallVector<Operation *> parts;
  SmallVector<Value> operands, results;
  SmallVector<Type> types;
  for (LaunchOp launch : launches) {
    locations.push_back(launch.getLoc());
    parts.push_back(launch);
    llvm::append_range(operands, launch.getOperands());
    for (Value result : launch.getResults()) {
      types.push_back(result.getType());
      results.push_back(result);
      ofResults.push_back(locationOf(result));
    }
  }
  LaunchOp first = launches.front();
  auto batch = LaunchOp::create(
      b, fusedLocation(locations, ofResults, b.getContext()), types,
      first.getKernel(), operands, first.getPositionsAttr(),
      first.getInPlaceAttr(), launches.size());
  setFusedOrigin(batch, parts, results);
  unsigned next = 0;
  for (LaunchOp launch : launches) {
    for (Value result : launch.getResults())
      result.replaceAllUsesWith(batch.getResult(next++));
    launch.erase();
  }
}

/// Puts the instructions into an order; returns the launches that it saves.
static int64_t reorder(Block &block, ArrayRef<Operation *> instructions,
                       const BatchOrder &order) {
  Operation *end = block.getTerminator();
  OpBuilder b(end);
  SmallVector<ReshapeOp> views(block.getOps<ReshapeOp>());
  int64_t saved = 0;
  for (ArrayRef<int32_t> steps : order) {
    Operation *op = instructions[steps.front()];
    op->moveBefore(end);
    if (steps.size() == 1)
      continue;
    SmallVector<LaunchOp> launches;
    for (int32_t step : steps)
      launches.push_back(cast<LaunchOp>(instructions[step]));
    createBatch(b, launches);
    saved += steps.size() - 1;
  }
  for (ReshapeOp view : views)
    if (Operation *definer = view.getOperand().getDefiningOp())
      view->moveAfter(definer);
  return saved;
}

namespace {
struct BatchLaunches : weft::impl::BatchLaunchesBase<BatchLaunches> {
  void runOnInput() override;
};
} // namespace

void BatchLaunches::runOnInput() {
  ModuleOp module = getOperation();
  FailureOr<ProgramStates> states = ProgramStates::collect(module);
  if (failed(states))
    return signalPassFailure();
  InPlacePairs pairs(module);
  for (func::FuncOp entry : findEntries(module)) {
    // The order is one of a single block.
    if (!entry.getOps<RepeatOp>().empty())
      continue;
    placeInBuffers(entry, *states, pairs);
    EntryBuffers buffers(entry, *states, ResultBinding::Bound);
    LaunchKinds kinds(module);
    BatchProgram program;
    for (Operation *op : buffers.instructions())
      program.steps.push_back(makeStep(op, buffers, kinds));
    for (const EntryBuffer &buffer : buffers.buffers())
      program.buffers.push_back(makeBuffer(buffer));
    program.largest = std::move(kinds.largest);
    BatchOrder order = batchLaunches(program);
    std::vector<std::string> problems = checkBatches(program, order);
    for (const std::string &problem : problems) // no test: a wrong answer
      entry.emitError() << "wrong order of batches: " << problem;
    if (!problems.empty())
      return signalPassFailure();
    saved += reorder(entry.front(), buffers.instructions(), order);
  }
}
