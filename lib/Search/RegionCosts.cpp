//===- RegionCosts.cpp - What the regions of a chain take -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionCosts.h"

#include "weft/IR/Origin.h"
#include "weft/IR/Segments.h"
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

/// An instruction of the backward pass, and the last region that it is of.
struct BackwardStep {
  int64_t time, region;
};

/// Measures the regions in one entry.
class RegionMeter {
public:
  RegionMeter(func::FuncOp entry, const ProgramStates &states,
              ArrayRef<plan::Purpose> statePurposes,
              std::vector<ChainRegion> &regions)
      : entry(entry), buffers(entry, states, ResultBinding::Bound),
        contents(buffers, statePurposes), regions(regions),
        alive(newTimeline()), values(regions.size(), newTimeline()),
        outputs(regions.size(), newTimeline()) {}

  void run();

private:
  Timeline newTimeline() const {
    return Timeline(buffers.instructions().size() + 2);
  }
  void visitStep(Operation *op);
  void visitBuffer(const EntryBuffer &buffer);
  void visitHeld(const HeldValue &held, int64_t bytes);
  int64_t neededAt(const BackwardStep &step) const;

  func::FuncOp entry;
  EntryBuffers buffers;
  BufferContents contents;
  std::vector<ChainRegion> &regions;
  std::vector<BackwardStep> backward;
  /// All bytes, and those that each region holds for the backward pass: its
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

/// Whether the forward pass of a later region reads the value.
static bool leavesRegion(Value value, int64_t region) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isView(user))
      return leavesRegion(user->getResult(0), region);
    OriginAttr origin = getOrigin(user);
    ArrayRef<int64_t> theirs = regionsOf(origin);
    return !theirs.empty() && *llvm::min_element(theirs) > region &&
           !isBackward(origin);
  });
}

/// What is kept of a matmul where only results of matmuls are, beside what
/// other regions read.
static int64_t dotBytes(GemmOp gemm, int64_t region) {
  Value sums = gemm.getAux() ? gemm.getAux() : gemm.getResult();
  return leavesRegion(sums, region) ? 0 : byteSize(gemm.getResult().getType());
}

void RegionMeter::visitStep(Operation *op) {
  OriginAttr origin = getOrigin(op);
  ArrayRef<int64_t> mine = regionsOf(origin);
  if (mine.empty())
    return;
  if (isBackward(origin)) {
    backward.push_back({buffers.timeOf(op), *llvm::max_element(mine)});
    return;
  }
  ChainRegion &region = regions[mine.front()];
  double work = countFlops(op);
  region.work += work;
  auto gemm = dyn_cast<GemmOp>(op);
  if (!region.dots)
    region.dots = PartialKeep();
  if (!gemm) {
    region.dots->work += work;
    return;
  }
  region.dots->bytes += dotBytes(gemm, mine.front());
}

void RegionMeter::visitHeld(const HeldValue &held, int64_t bytes) {
  OriginAttr origin = getValueOrigin(held.value);
  ArrayRef<int64_t> mine = regionsOf(origin);
  if (mine.empty() || isBackward(origin))
    return;
  size_t region = mine.front();
  bool isOutput = leavesRegion(held.value, region);
  if (isOutput && region + 1 < regions.size())
    regions[region + 1].inputBytes += bytes;
  if (held.purpose != plan::Purpose::Activation)
    return;
  if (!isOutput)
    regions[region].valueBytes += bytes;
  add(isOutput ? outputs[region] : values[region], held.first, held.last,
      bytes);
}

void RegionMeter::visitBuffer(const EntryBuffer &buffer) {
  if (!buffer.isLaidOut() || buffer.kind == BufferKind::State ||
      buffer.kind == BufferKind::Constant)
    return;
  add(alive, buffer.first, buffer.last, alignedBytes(buffer.bytes));
  for (const HeldValue &held : contents.of(buffer))
    visitHeld(held, buffer.bytes);
}

/// What is alive at a step but for what the regions before its own hold.
int64_t RegionMeter::neededAt(const BackwardStep &step) const {
  int64_t bytes = alive[step.time];
  for (int64_t before = 0; before < step.region; ++before)
    bytes -= values[before][step.time] + outputs[before][step.time];
  return bytes;
}

void RegionMeter::run() {
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
  // The values of the region are among them; finish() takes those off.
  for (const BackwardStep &step : backward)
    regions[step.region].besideBytes =
        std::max(regions[step.region].besideBytes, fixed + neededAt(step));
}

/// The numbers are of all calls of a function together. Not all values of a
/// region are still there when the most is there beside them.
static void finish(ChainRegion &region, int64_t calls) {
  region.inputBytes /= calls;
  region.valueBytes /= calls;
  region.work /= calls;
  region.besideBytes -= std::min(region.besideBytes, region.valueBytes);
  if (!region.dots)
    return;
  region.dots->bytes /= calls;
  region.dots->work /= calls;
}

FailureOr<std::vector<std::vector<ChainRegion>>>
measureChains(ModuleOp schedule) {
  auto program = ProgramStates::collect(schedule);
  if (failed(program))
    return failure();
  // Pairs: regions of a function, and calls of it.
  auto chains = schedule->getAttrOfType<DenseI64ArrayAttr>(kChainsAttrName);
  if (!chains)
    return std::vector<std::vector<ChainRegion>>();
  int64_t count = 0;
  for (int64_t i = 0; i + 1 < chains.size(); i += 2)
    count += chains[i];
  std::vector<ChainRegion> regions(count);
  std::vector<plan::Purpose> purposes = findStatePurposes(schedule, *program);
  for (func::FuncOp entry : findEntries(schedule))
    RegionMeter(entry, *program, purposes, regions).run();

  std::vector<std::vector<ChainRegion>> result;
  auto next = regions.begin();
  for (int64_t i = 0; i + 1 < chains.size(); i += 2) {
    result.emplace_back(next, next + chains[i]);
    for (ChainRegion &region : result.back())
      finish(region, chains[i + 1]);
    next += chains[i];
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Ranks of a pipeline
//===----------------------------------------------------------------------===//

/// Whether a collective sends what matmuls alone read, such as a weight that is
/// gathered: who keeps their results need not send it again.
static bool isForMatmuls(StartOp start) {
  for (Operation *wait : start->getUsers())
    for (Value result : wait->getResults())
      if (!llvm::all_of(result.getUsers(), llvm::IsaPred<GemmOp>))
        return false;
  return true;
}

/// What a segment of the forward pass computes and sends of regions, in
/// seconds, and leaves of them for the way back.
static void addKept(func::FuncOp segment, const cost::CostModel &model,
                    RankMemory &rank) {
  int64_t slots = 1;
  for (unsigned i = 0; i < segment.getNumResults(); ++i)
    slots = std::max(slots, slotsOf(segment.getResultAttrDict(i)));
  for (Operation &op : segment.front().without_terminator()) {
    ArrayRef<int64_t> mine = regionsOf(getOrigin(&op));
    if (mine.empty())
      continue;
    KeptRegion &region = rank.regions[mine.front()];
    const double work = estimateSeconds(&op, model);
    region.work += work;
    auto start = dyn_cast<StartOp>(op);
    if (auto gemm = dyn_cast<GemmOp>(op))
      region.dotBytes += dotBytes(gemm, mine.front()) * slots;
    else if (!start || !isForMatmuls(start))
      region.dotWork += work;
  }
  for (auto [index, value] :
       llvm::enumerate(segment.front().getTerminator()->getOperands())) {
    DictionaryAttr attrs = segment.getResultAttrDict(index);
    ArrayRef<int64_t> mine = regionsOf(getValueOrigin(value));
    if (!attrs || !attrs.get(WeftDialect::kSlotsAttrName) || mine.empty() ||
        leavesRegion(value, mine.front()))
      continue;
    const int64_t bytes =
        byteSize(cast<RankedTensorType>(value.getType())) * slotsOf(attrs);
    rank.regions[mine.front()].bytes += bytes;
  }
}

std::vector<RankMemory> measureRanks(ModuleOp schedule,
                                     const cost::CostModel &model) {
  std::vector<RankMemory> ranks;
  for (func::FuncOp segment : findEntries(schedule)) {
    SegmentAttr is = getSegment(segment);
    if (!is)
      continue;
    ranks.resize(std::max<size_t>(ranks.size(), is.getRole() + 1));
    RankMemory &rank = ranks[is.getRole()];
    rank.bytes = std::max(
        rank.bytes,
        segment->getAttrOfType<IntegerAttr>(arenaBytesAttrName).getInt());
    if (is.getAction().getValue().ltrim("0123456789") == "F")
      addKept(segment, model, rank);
  }
  return ranks;
}

} // namespace weft
