//===- StartInLoops.cpp - Reductions beside the last iteration ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultPlacement.h"

#include "weft/IR/ClusterCost.h"
#include "weft/Schedule/ArenaPlanner.h"
#include "weft/Schedule/Passes.h"

namespace weft {
#define GEN_PASS_DEF_STARTINLOOPS
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

namespace {

/// A collective of a sum, and the instruction of the loop that last touches the
/// sum.
struct EarlyStart {
  StartOp start;
  RepeatOp loop;
  int64_t behind;
};

class Finder {
public:
  explicit Finder(const EntryBuffers &buffers) : buffers(buffers) {}

  std::optional<EarlyStart> find(StartOp start) const;

private:
  /// The last instruction of the loop that touches the buffer or a part of it;
  /// nothing if others between the loop and the start do.
  std::optional<int64_t> findLastTouch(int32_t buffer, RepeatOp loop,
                                       StartOp start) const;

  const EntryBuffers &buffers;
};

} // namespace

std::optional<int64_t> Finder::findLastTouch(int32_t buffer, RepeatOp loop,
                                             StartOp start) const {
  int64_t last = -1;
  bool isTouchedBehind = false;
  auto touch = [&](Operation *op) {
    if (op == start || isView(op) || isPartView(op) ||
        op->hasTrait<OpTrait::IsTerminator>())
      return;
    if (loop->isProperAncestor(op))
      last = std::max(last, buffers.endOf(op));
    else if (buffers.timeOf(op) > buffers.endOf(loop))
      isTouchedBehind |= buffers.timeOf(op) < buffers.timeOf(start);
  };
  SmallVector<int32_t> touched = buffers.sharing(buffer);
  touched.push_back(buffer);
  for (int32_t each : touched)
    for (Value value : buffers.buffer(each).values) {
      if (Operation *definer = value.getDefiningOp())
        touch(definer);
      for (Operation *user : value.getUsers())
        touch(user);
    }
  return isTouchedBehind || last < 0 ? std::nullopt : std::optional(last);
}

std::optional<EarlyStart> Finder::find(StartOp start) const {
  RepeatOp loop = findLoopBefore(start);
  if (!loop || loop->getBlock() != start->getBlock())
    return std::nullopt;
  // What lies in a state may be read in the loop before it is written.
  BufferKind kind = buffers.bufferFor(start.getPending()).kind;
  if (kind != BufferKind::Temporary && kind != BufferKind::Output)
    return std::nullopt;
  auto last = findLastTouch(buffers.bufferOf(start.getOperand()), loop, start);
  if (!last)
    return std::nullopt;
  return EarlyStart{start, loop, *last - buffers.timeOf(loop) - 1};
}

namespace {

struct StartInLoops : weft::impl::StartInLoopsBase<StartInLoops> {
  using StartInLoopsBase::StartInLoopsBase;

  void runOnInput() override;
  void startEarly(func::FuncOp entry, const ProgramStates &states,
                  const cost::CostModel &model);
};

} // namespace

/// The most bytes that are alive at one instruction.
static int64_t peakOf(func::FuncOp entry, const ProgramStates &states) {
  EntryBuffers buffers(entry, states, ResultBinding::Bound);
  std::vector<ArenaBuffer> shared;
  for (const EntryBuffer &buffer : buffers.buffers())
    if (buffer.isLaidOut() && buffer.kind != BufferKind::State &&
        buffer.kind != BufferKind::Constant)
      shared.push_back({buffer.first, buffer.last, buffer.bytes});
  return livenessBound(shared);
}

/// Adds what makes a value of the results of a loop, in program order.
static void addViews(Value value, llvm::SetVector<Operation *> &views) {
  Operation *op = value.getDefiningOp();
  if (isa<RepeatOp>(op))
    return;
  for (Value operand : op->getOperands())
    addViews(operand, views);
  views.insert(op);
}

void StartInLoops::startEarly(func::FuncOp entry, const ProgramStates &states,
                              const cost::CostModel &model) {
  std::vector<EarlyStart> found;
  {
    EntryBuffers buffers(entry, states, ResultBinding::Bound);
    for (auto start : entry.front().getOps<StartOp>()) {
      if (!hides(start, model))
        continue;
      if (auto early = Finder(buffers).find(start))
        found.push_back(*early);
    }
  }
  if (found.empty())
    return;
  int64_t peak = peakOf(entry, states);
  // In the order in which the sums are there, since one queue may run them.
  llvm::stable_sort(found, [](const EarlyStart &a, const EarlyStart &b) {
    return a.behind < b.behind;
  });
  Builder builder(entry.getContext());
  auto isKept = [](const EarlyStart &early) {
    return early.start->hasAttr(behindAttrName);
  };
  for (EarlyStart &early : found)
    early.start->setAttr(behindAttrName,
                         builder.getI64IntegerAttr(early.behind));
  // What is not written over its sum is there for longer.
  if (peakOf(entry, states) > peak)
    for (EarlyStart &early : found)
      if (!early.start.getInPlace())
        early.start->removeAttr(behindAttrName);
  llvm::DenseMap<Operation *, Operation *> places;
  for (EarlyStart &early : llvm::make_filter_range(found, isKept)) {
    Operation *&place =
        places.try_emplace(early.loop, early.loop).first->second;
    llvm::SetVector<Operation *> views;
    addViews(early.start.getOperand(), views);
    for (Operation *view : views) {
      view->moveAfter(place);
      place = view;
    }
    early.start->moveAfter(place);
    place = early.start;
    ++started;
  }
}

void StartInLoops::runOnInput() {
  ModuleOp module = getOperation();
  FailureOr<cost::CostModel> model = loadCostModel(module, cluster);
  if (failed(model))
    return signalPassFailure();
  FailureOr<ProgramStates> states = ProgramStates::collect(module);
  if (failed(states))
    return signalPassFailure();
  InPlacePairs pairs(module);
  for (func::FuncOp entry : findEntries(module)) {
    if (llvm::none_of(entry.getOps<StartOp>(), findLoopBefore))
      continue;
    placeInBuffers(entry, *states, pairs);
    startEarly(entry, *states, *model);
  }
}
