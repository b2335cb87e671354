//===- CutLoops.cpp - Cut a differentiated loop into stages ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopRegions.h"
#include "Stages.h"

#include "weft/Pipelining/Passes.h"

#include "weft/IR/Origin.h"
#include "weft/IR/SourceLocation.h"

#include "mlir/IR/Builders.h"

namespace weft {
#define GEN_PASS_DEF_CUTLOOPS
#include "weft/Pipelining/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

namespace {

/// Puts boundaries on what goes from stage to stage, both ways.
class BoundaryPlacer {
public:
  BoundaryPlacer(Block &block, const LoopRegions &regions,
                 ArrayRef<int64_t> starts)
      : block(block), regions(regions), starts(starts),
        boundaries(starts.size() + 1) {}

  void run();

private:
  int64_t stageOf(Operation *op) const {
    return llvm::upper_bound(starts, *regions.of(op)) - starts.begin();
  }
  Value place(Value value, int64_t from, int64_t to);

  Block &block;
  const LoopRegions &regions;
  ArrayRef<int64_t> starts;
  /// By stage, what goes there from the one before.
  std::vector<SmallVector<Value>> boundaries;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> placed;
};

} // namespace

/// The value in stage `to`, by way of all stages in between.
Value BoundaryPlacer::place(Value value, int64_t from, int64_t to) {
  if (from == to)
    return value;
  if (Value known = placed.lookup({value, to}))
    return known;
  bool isForward = to > from;
  Value before = place(value, from, isForward ? to - 1 : to + 1);
  Value of;
  if (!isForward)
    of = *llvm::find_if(boundaries[to + 1], [&](Value each) {
      return each.getType() == value.getType();
    });
  OpBuilder b(value.getContext());
  b.setInsertionPointAfterValue(before);
  Value boundary = StageBoundaryOp::create(b, locationOf(value),
                                           value.getType(), before, of);
  if (isForward)
    boundaries[to].push_back(boundary);
  return placed[{value, to}] = boundary;
}

void BoundaryPlacer::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    if (regions.of(&op))
      ops.push_back(&op);
  // What goes forward first, which what goes back is paired with.
  for (bool goesForward : {true, false})
    for (Operation *op : ops)
      for (OpOperand &operand : op->getOpOperands()) {
        Value value = operand.get();
        if (!regions.isSent(value))
          continue;
        int64_t from = stageOf(value.getDefiningOp()), to = stageOf(op);
        if (from != to && (from < to) == goesForward &&
            (goesForward || !regions.isAddedUp(op)))
          operand.set(place(value, from, to));
      }
}

namespace {

struct CutLoops : weft::impl::CutLoopsBase<CutLoops> {
  using CutLoopsBase::CutLoopsBase;

  void runOnInput() override {
    auto chains =
        getOperation()->getAttrOfType<DenseI64ArrayAttr>(kChainsAttrName);
    if ((chains && !chains.empty()) || getOperation()->hasAttr(kStagesAttrName))
      return;
    SmallVector<int64_t> found;
    for (auto entry : getOperation().getOps<func::FuncOp>()) {
      if (!entry.isPublic() || !entry.getBody().hasOneBlock() ||
          Microbatches(entry.front()).getLoops().size() != 1)
        continue;
      bool hasBoundaries = !entry.getOps<StageBoundaryOp>().empty();
      if (!regions.empty() && hasBoundaries)
        continue;
      if (failed(regions.empty() ? mark(entry, found) : cut(entry)))
        return signalPassFailure();
    }
    if (regions.empty())
      getOperation()->setAttr(kChainsAttrName,
                              DenseI64ArrayAttr::get(&getContext(), found));
  }

private:
  LogicalResult mark(func::FuncOp entry, SmallVector<int64_t> &found);
  LogicalResult cut(func::FuncOp entry);
};

} // namespace

LogicalResult CutLoops::mark(func::FuncOp entry, SmallVector<int64_t> &found) {
  for (auto op : entry.getOps<StageBoundaryOp>())
    return op.emitError("the compiler is to place the stage boundaries, but "
                        "the model has one; take it away, or let the "
                        "boundaries of the model be the stages");
  LoopRegions loop(entry);
  if (!loop.hasParameters())
    return emitError(entry.getLoc())
           << "stages are placed between parameters, but @"
           << entry.getSymName()
           << " has gradients of none that is known; donate the state that it "
              "updates";
  if (!loop.hasForward())
    return emitError(entry.getLoc())
           << "stages are placed along what a result other than gradients is "
              "computed from, but the loop over micro-batches of @"
           << entry.getSymName() << " has none; return the loss";
  int64_t first = 0;
  for (size_t i = 0; i < found.size(); i += 2)
    first += found[i];
  for (Operation &op : entry.front())
    if (std::optional<int64_t> region = loop.of(&op)) {
      OriginAttr origin =
          withRegion(getOrigin(&op), first + *region, &getContext());
      setOrigin(&op, loop.isForward(&op) ? origin
                                         : withBackward(origin, &getContext()));
    }
  found.append({loop.size(), 1});
  return success();
}

LogicalResult CutLoops::cut(func::FuncOp entry) {
  LoopRegions loop(entry);
  for (int64_t first : regions)
    if (first < 1 || first >= loop.size())
      return entry.emitError()
             << "a stage is to begin with region " << first
             << ", but the loop over micro-batches has " << loop.size()
             << " regions, and stages behind the first begin with 1 to "
             << loop.size() - 1;
  BoundaryPlacer(entry.front(), loop, ArrayRef<int64_t>(regions)).run();
  return success();
}
