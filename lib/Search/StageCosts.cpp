//===- StageCosts.cpp - What the stages of a chain take -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageCosts.h"

#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"
#include "weft/Plan/BufferContents.h"
#include "weft/Schedule/ArenaPlanner.h"
#include "weft/Schedule/StepCost.h"

using namespace mlir;

namespace weft {
namespace {

/// Bytes at each instruction, filled in as differences.
using Timeline = std::vector<int64_t>;

/// An instruction of the backward pass, and the last stage that it is of.
struct BackwardStep {
  int64_t time, stage;
};

/// Measures the stages in one entry.
class StageMeter {
public:
  StageMeter(func::FuncOp entry, const ProgramStates &states,
             ArrayRef<plan::Purpose> statePurposes,
             std::vector<ChainStage> &stages)
      : entry(entry), buffers(entry, states, ResultBinding::Bound),
        contents(buffers, statePurposes), stages(stages), alive(newTimeline()),
        values(stages.size(), newTimeline()),
        outputs(stages.size(), newTimeline()) {}

  void run();

private:
  Timeline newTimeline() const {
    return Timeline(buffers.instructions().size() + 2);
  }
  void visitStep(Operation *op);
  void visitBuffer(const EntryBuffer &buffer);
  void visitHeld(const HeldValue &held, int64_t bytes);
  bool leavesStage(Value value, int64_t stage) const;
  int64_t neededAt(const BackwardStep &step) const;

  func::FuncOp entry;
  EntryBuffers buffers;
  BufferContents contents;
  std::vector<ChainStage> &stages;
  std::vector<BackwardStep> backward;
  /// All bytes, and those that each stage holds for the backward pass: its
  /// output, if the backward pass needs that, on its own.
  Timeline alive;
  std::vector<Timeline> values, outputs;
};

} // namespace

static void add(Timeline &timeline, int64_t first, int64_t last,
                int64_t bytes) {
  timeline[first] += bytes;
  timeline[last + 1] -= bytes;
}

static void accumulate(Timeline &timeline) {
  for (size_t i = 1; i < timeline.size(); ++i)
    timeline[i] += timeline[i - 1];
}

void StageMeter::visitStep(Operation *op) {
  OriginAttr origin = getOrigin(op);
  ArrayRef<int64_t> mine = stagesOf(origin);
  if (mine.empty())
    return;
  if (isBackward(origin)) {
    backward.push_back({buffers.timeOf(op), *llvm::max_element(mine)});
    return;
  }
  ChainStage &stage = stages[mine.front()];
  double flops = countFlops(op);
  stage.flops += flops;
  auto gemm = dyn_cast<GemmOp>(op);
  if (!stage.dots)
    stage.dots = PartialKeep();
  if (!gemm) {
    stage.dots->flops += flops;
    return;
  }
  Value sums = gemm.getAux() ? gemm.getAux() : gemm.getResult();
  if (!leavesStage(sums, mine.front()))
    stage.dots->bytes += byteSize(gemm.getResult().getType());
}

/// Whether the forward pass of a later stage reads the value.
bool StageMeter::leavesStage(Value value, int64_t stage) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isView(user))
      return leavesStage(user->getResult(0), stage);
    OriginAttr origin = getOrigin(user);
    ArrayRef<int64_t> theirs = stagesOf(origin);
    return !theirs.empty() && *llvm::min_element(theirs) > stage &&
           !isBackward(origin);
  });
}

void StageMeter::visitHeld(const HeldValue &held, int64_t bytes) {
  OriginAttr origin = getValueOrigin(held.value);
  ArrayRef<int64_t> mine = stagesOf(origin);
  if (mine.empty() || isBackward(origin))
    return;
  size_t stage = mine.front();
  bool isOutput = leavesStage(held.value, stage);
  if (isOutput && stage + 1 < stages.size())
    stages[stage + 1].inputBytes += bytes;
  if (held.purpose != plan::Purpose::Activation)
    return;
  if (!isOutput)
    stages[stage].valueBytes += bytes;
  add(isOutput ? outputs[stage] : values[stage], held.first, held.last, bytes);
}

void StageMeter::visitBuffer(const EntryBuffer &buffer) {
  if (buffer.values.empty() || buffer.role == BufferRole::State ||
      buffer.role == BufferRole::Constant)
    return;
  add(alive, buffer.first, buffer.last, alignedBytes(buffer.bytes));
  for (const HeldValue &held : contents.of(buffer))
    visitHeld(held, buffer.bytes);
}

/// What is alive at a step but for what the stages before its own hold.
int64_t StageMeter::neededAt(const BackwardStep &step) const {
  int64_t bytes = alive[step.time];
  for (int64_t before = 0; before < step.stage; ++before)
    bytes -= values[before][step.time] + outputs[before][step.time];
  return bytes;
}

void StageMeter::run() {
  for (Operation *op : buffers.instructions())
    visitStep(op);
  for (const EntryBuffer &buffer : buffers.buffers())
    visitBuffer(buffer);
  accumulate(alive);
  for (Timeline &timeline : values)
    accumulate(timeline);
  for (Timeline &timeline : outputs)
    accumulate(timeline);
  // States and constants, which are always there.
  auto bytes = [&](llvm::StringRef name) {
    return entry->getAttrOfType<IntegerAttr>(name).getInt();
  };
  int64_t fixed = bytes(livenessBytesAttrName) -
                  *std::max_element(alive.begin(), alive.end());
  // The values of the stage are among them; finish() takes those off.
  for (const BackwardStep &step : backward)
    stages[step.stage].besideBytes =
        std::max(stages[step.stage].besideBytes, fixed + neededAt(step));
}

/// The numbers are of all calls of a function together. Not all values of a
/// stage are still there when the most is there beside them.
static void finish(ChainStage &stage, int64_t calls) {
  stage.inputBytes /= calls;
  stage.valueBytes /= calls;
  stage.flops /= calls;
  stage.besideBytes -= std::min(stage.besideBytes, stage.valueBytes);
  if (!stage.dots)
    return;
  stage.dots->bytes /= calls;
  stage.dots->flops /= calls;
}

FailureOr<std::vector<std::vector<ChainStage>>>
measureChains(ModuleOp schedule) {
  auto program = ProgramStates::collect(schedule);
  if (failed(program))
    return failure();
  // Pairs: stages of a function, and calls of it.
  auto chains = schedule->getAttrOfType<DenseI64ArrayAttr>(kChainsAttrName);
  if (!chains)
    return std::vector<std::vector<ChainStage>>();
  int64_t count = 0;
  for (int64_t i = 0; i + 1 < chains.size(); i += 2)
    count += chains[i];
  std::vector<ChainStage> stages(count);
  std::vector<plan::Purpose> purposes = findStatePurposes(schedule, *program);
  for (func::FuncOp entry : findEntries(schedule))
    StageMeter(entry, *program, purposes, stages).run();

  std::vector<std::vector<ChainStage>> result;
  auto next = stages.begin();
  for (int64_t i = 0; i + 1 < chains.size(); i += 2) {
    result.emplace_back(next, next + chains[i]);
    for (ChainStage &stage : result.back())
      finish(stage, chains[i + 1]);
    next += chains[i];
  }
  return result;
}

} // namespace weft
