//===- BatchLaunches.cpp - Launches of one kernel become one --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultPlacement.h"

#include "weft/Cost/GpuLimits.h"
#include "weft/IR/ClusterCost.h"
#include "weft/IR/Origin.h"
#include "weft/IR/SourceLocation.h"
#include "weft/Schedule/ArenaPlanner.h"
#include "weft/Schedule/LaunchBatches.h"
#include "weft/Schedule/Passes.h"
#include "weft/Schedule/StepCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"

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
static bool isElementwiseKernel(func::FuncOp kernel) {
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

/// The launches of a block that differ in their operands only.
class LaunchKinds {
public:
  LaunchKinds(const SymbolTable &symbols, bool onlyLoopInits)
      : symbols(symbols), onlyLoopInits(onlyLoopInits) {}

  /// The number of the launch's launchKind, or -1.
  int32_t of(LaunchOp launch);
  std::vector<int64_t> largest;

private:
  const SymbolTable &symbols;
  bool onlyLoopInits;
  llvm::DenseMap<Attribute, bool> elementwise;
  llvm::MapVector<Attribute, int32_t> numbers;
};

} // namespace

/// Whether the launch reads nothing, and a loop begins with what it writes.
static bool isLoopInit(LaunchOp launch) {
  return launch.getOperands().empty() &&
         llvm::all_of(launch->getUsers(), llvm::IsaPred<RepeatOp>);
}

int32_t LaunchKinds::of(LaunchOp launch) {
  if (onlyLoopInits && !isLoopInit(launch))
    return -1;
  auto [known, isNew] = elementwise.try_emplace(launch.getKernelAttr());
  if (isNew)
    known->second =
        isElementwiseKernel(symbols.lookup<func::FuncOp>(launch.getKernel()));
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

namespace {

/// The instructions of one block as a program of their own: a loop is one step.
class BlockProgram {
public:
  BlockProgram(Block &block, const EntryBuffers &buffers, LaunchKinds kinds,
               const cost::CostModel &model);

  SmallVector<Operation *> instructions;
  BatchProgram program;

private:
  BatchStep makeStep(Operation *op, LaunchKinds &kinds);
  void addTouches(BatchStep &step, Operation *op);
  void addTouches(BatchStep &step, RepeatOp loop);
  BatchBuffer makeBuffer(const EntryBuffer &buffer) const;

  Block &block;
  const EntryBuffers &buffers;
  const cost::CostModel &model;
};

} // namespace

BlockProgram::BlockProgram(Block &block, const EntryBuffers &buffers,
                           LaunchKinds kinds, const cost::CostModel &model)
    : block(block), buffers(buffers), model(model) {
  for (const EntryBuffer &buffer : buffers.buffers())
    program.buffers.push_back(makeBuffer(buffer));
  for (Operation *op : buffers.instructions())
    if (op->getBlock() == &block) {
      instructions.push_back(op);
      program.steps.push_back(makeStep(op, kinds));
    }
  program.largest = std::move(kinds.largest);
}

/// Whether every iteration of the loop with this block begins without the
/// contents of the buffer, and nothing behind the loop reads them.
static bool isInside(const EntryBuffer &buffer, Block &block) {
  return llvm::all_of(buffer.values, [&](Value value) {
    Operation *definer = value.getDefiningOp();
    return definer && block.findAncestorOpInBlock(*definer);
  });
}

BatchBuffer BlockProgram::makeBuffer(const EntryBuffer &buffer) const {
  // States and constants have places of their own, and what is there before and
  // after each iteration has one in all of it.
  if (buffer.values.empty() || buffer.kind == BufferKind::State ||
      buffer.kind == BufferKind::Constant ||
      (isa<RepeatOp>(block.getParentOp()) && !isInside(buffer, block)))
    return {};
  // The bytes of a whole are those of what is put side by side in it; what is
  // taken of it has none.
  if (buffer.values.front().getDefiningOp<SliceOp>())
    return {};
  int64_t bytes = alignedBytes(buffer.bytes);
  for (Value part : buffer.parts)
    if (!part.getDefiningOp<SliceOp>())
      bytes -= buffers.bufferFor(part).bytes;
  return {std::max<int64_t>(bytes, 0), buffer.kind == BufferKind::Input,
          buffer.kind == BufferKind::Output};
}

/// What `op` reads and writes, by number of the buffer.
void BlockProgram::addTouches(BatchStep &step, Operation *op) {
  auto add = [&](SmallVectorImpl<int32_t> &touched, Value value) {
    int32_t buffer = buffers.bufferOf(value);
    touched.push_back(buffer);
    // Who touches a part need not wait for who touches another one.
    for (int32_t other : buffers.sharing(buffer))
      if (buffers.buffer(other).parts.empty())
        touched.push_back(other);
  };
  for (Value operand : op->getOperands())
    add(step.reads, operand);
  for (Value result : op->getResults())
    add(step.writes, result);
}

/// What the instructions of a loop touch. What they hold within an iteration is
/// one buffer more.
void BlockProgram::addTouches(BatchStep &step, RepeatOp loop) {
  auto isOfLoop = [&](Operation *op) { return loop->isAncestor(op); };
  std::vector<ArenaBuffer> inside;
  for (auto [index, buffer] : llvm::enumerate(buffers.buffers())) {
    if (buffer.values.empty())
      continue;
    if (isInside(buffer, loop.getBlock())) {
      if (buffer.isLaidOut())
        inside.push_back({buffer.first, buffer.last, buffer.bytes});
      continue;
    }
    for (Value value : buffer.values) {
      Operation *definer = value.getDefiningOp();
      if (definer ? isOfLoop(definer)
                  : isOfLoop(value.getParentBlock()->getParentOp()))
        step.writes.push_back(index);
      if (llvm::any_of(value.getUsers(), isOfLoop))
        step.reads.push_back(index);
    }
  }
  step.writes.push_back(program.buffers.size());
  program.buffers.push_back({livenessBound(inside)});
}

BatchStep BlockProgram::makeStep(Operation *op, LaunchKinds &kinds) {
  BatchStep step;
  step.seconds = isa<StartOp, WaitOp>(op) ? 0 : estimateSeconds(op, model);
  if (auto loop = dyn_cast<RepeatOp>(op))
    addTouches(step, loop);
  else
    addTouches(step, op);
  if (auto launch = dyn_cast<LaunchOp>(op))
    step.launchKind = kinds.of(launch);
  if (isa<StartOp>(op))
    step.kind = BatchStep::Kind::Starts;
  if (auto wait = dyn_cast<WaitOp>(op)) {
    step.kind = BatchStep::Kind::Waits;
    addTouches(step, wait.getPending().getDefiningOp());
  }
  return step;
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
  SmallVector<Operation *> views;
  for (Operation &op : block)
    if (isa<ReshapeOp>(op) || isPartView(&op))
      views.push_back(&op);
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
  for (Operation *view : views) {
    Operation *last = nullptr;
    for (Value operand : view->getOperands())
      if (Operation *definer = operand.getDefiningOp();
          definer && definer->getBlock() == &block &&
          (!last || last->isBeforeInBlock(definer)))
        last = definer;
    if (last)
      view->moveAfter(last);
  }
  return saved;
}

/// Whether a block has launches of one kind.
static bool hasEqualLaunches(Block &block, LaunchKinds kinds) {
  llvm::SmallSet<int32_t, 8> seen;
  return llvm::any_of(block.getOps<LaunchOp>(), [&](LaunchOp launch) {
    int32_t launchKind = kinds.of(launch);
    return launchKind >= 0 && !seen.insert(launchKind).second;
  });
}

namespace {
struct BatchLaunches : weft::impl::BatchLaunchesBase<BatchLaunches> {
  using BatchLaunchesBase::BatchLaunchesBase;

  void runOnInput() override;
  LogicalResult batch(func::FuncOp entry, Block &block,
                      const ProgramStates &states, const LaunchKinds &kinds,
                      const cost::CostModel &model);
};
} // namespace

/// Of work that may move across a start or a wait.
static constexpr double launchesToCross = 10;

LogicalResult BatchLaunches::batch(func::FuncOp entry, Block &block,
                                   const ProgramStates &states,
                                   const LaunchKinds &kinds,
                                   const cost::CostModel &model) {
  EntryBuffers buffers(entry, states, ResultBinding::Bound);
  BlockProgram ofBlock(block, buffers, kinds, model);
  const BatchOptions options = {launchesToCross * model.launch()};
  BatchOrder order = batchLaunches(ofBlock.program, options);
  std::vector<std::string> problems =
      checkBatches(ofBlock.program, order, options);
  for (const std::string &problem : problems) // no test: a wrong answer
    entry.emitError() << "wrong order of batches: " << problem;
  saved += reorder(block, ofBlock.instructions, order);
  return success(problems.empty());
}

void BatchLaunches::runOnInput() {
  ModuleOp module = getOperation();
  FailureOr<ProgramStates> states = ProgramStates::collect(module);
  FailureOr<cost::CostModel> model = loadCostModel(module, cluster);
  if (failed(states) || failed(model))
    return signalPassFailure();
  SymbolTable symbols(module);
  LaunchKinds kinds(symbols, onlyLoopInits);
  InPlacePairs pairs(module);
  for (func::FuncOp entry : findEntries(module)) {
    // Blocks of loops first: how much they hold is known then.
    SmallVector<Block *> blocks;
    entry.walk([&](Block *block) {
      if (hasEqualLaunches(*block, kinds))
        blocks.push_back(block);
    });
    if (!blocks.empty())
      placeInBuffers(entry, *states, pairs);
    for (Block *block : blocks)
      if (failed(batch(entry, *block, *states, kinds, *model)))
        return signalPassFailure();
  }
}
