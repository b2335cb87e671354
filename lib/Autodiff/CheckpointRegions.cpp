//===- CheckpointRegions.cpp - Recompute regions of a chain ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainRegions.h"

#include "weft/Autodiff/Passes.h"
#include "weft/IR/Origin.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <functional>

namespace weft {
#define GEN_PASS_DEF_CHECKPOINTREGIONS
#include "weft/Autodiff/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// Ranges as text
//===----------------------------------------------------------------------===//

namespace {

struct ChainRange {
  size_t begin = 0, end = 0;
  bool keepsDots = false;
};

} // namespace

/// `2:5`, `3:4:dots`
static std::optional<ChainRange> parseRange(StringRef text) {
  ChainRange range;
  auto [begin, rest] = text.split(':');
  auto [end, policy] = rest.split(':');
  range.keepsDots = policy == "dots";
  if (begin.getAsInteger(10, range.begin) || end.getAsInteger(10, range.end) ||
      range.begin >= range.end || (!policy.empty() && !range.keepsDots))
    return std::nullopt;
  return range;
}

//===----------------------------------------------------------------------===//
// One range
//===----------------------------------------------------------------------===//

namespace {

/// The regions of one function, some of which become calls.
class Chain {
public:
  Chain(func::FuncOp function, std::vector<CheckpointRegion> regions,
        SymbolTable &symbols)
      : function(function), regions(std::move(regions)), symbols(symbols) {}

  void copyConstants();
  /// Replaces the regions [begin, end) by a checkpoint of the first one; by
  /// one for each pipeline stage that they are of.
  void checkpoint(size_t begin, size_t end, bool keepsDots);

private:
  void copyConstants(CheckpointRegion &region);
  CheckpointOp checkpoint(ArrayRef<Operation *> ops, bool keepsDots);

  func::FuncOp function;
  std::vector<CheckpointRegion> regions;
  SymbolTable &symbols;
};

/// What ops take from outside, and what of theirs others use.
struct Border {
  explicit Border(ArrayRef<Operation *> ops) {
    llvm::SmallPtrSet<Operation *, 16> inside(ops.begin(), ops.end());
    for (Operation *op : ops) {
      for (Value operand : op->getOperands())
        if (!inside.contains(operand.getDefiningOp()))
          operands.insert(operand);
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              return !inside.contains(user);
            }))
          results.push_back(result);
    }
  }

  llvm::SetVector<Value> operands;
  SmallVector<Value> results;
};

} // namespace

/// Copies a value that depends on no argument, with what it is made of.
static Value copyExpression(Value value, OpBuilder &builder, IRMapping &copies,
                            CheckpointRegion &into) {
  if (Value copy = copies.lookupOrNull(value))
    return copy;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    copyExpression(operand, builder, copies, into);
  into.push_back(builder.clone(*op, copies));
  return copies.lookup(value);
}

void Chain::copyConstants(CheckpointRegion &region) {
  if (region.empty())
    return;
  llvm::SmallPtrSet<Operation *, 16> inside(region.begin(), region.end());
  OpBuilder builder(region.front());
  IRMapping copies;
  CheckpointRegion copied;
  for (Operation *op : region)
    for (OpOperand &use : op->getOpOperands())
      if (!inside.contains(use.get().getDefiningOp()) &&
          isConstantExpression(use.get()))
        use.set(copyExpression(use.get(), builder, copies, copied));
  region.insert(region.begin(), copied.begin(), copied.end());
}

/// A constant that came from another region would be held for its sake.
void Chain::copyConstants() {
  for (CheckpointRegion &region : regions)
    copyConstants(region);
  for (CheckpointRegion &region : regions)
    for (Operation *&op : llvm::reverse(region))
      if (isOpTriviallyDead(op)) {
        op->erase();
        op = nullptr;
      }
  for (CheckpointRegion &region : regions)
    llvm::erase(region, nullptr);
}

void Chain::checkpoint(size_t begin, size_t end, bool keepsDots) {
  CheckpointRegion ops;
  for (size_t i = begin; i < end; ++i) {
    ops.insert(ops.end(), regions[i].begin(), regions[i].end());
    regions[i].clear();
  }
  CheckpointRegion left, ofStage;
  auto endStage = [&] {
    if (!ofStage.empty())
      left.push_back(checkpoint(ofStage, keepsDots));
    ofStage.clear();
  };
  for (Operation *op : ops) {
    if (isa<StageBoundaryOp>(op)) {
      endStage();
      left.push_back(op);
    } else {
      ofStage.push_back(op);
    }
  }
  endStage();
  regions[begin] = std::move(left);
}

CheckpointOp Chain::checkpoint(ArrayRef<Operation *> ops, bool keepsDots) {
  Border border(ops);
  auto types = [](auto &&values) {
    return llvm::map_to_vector(values, [](Value v) { return v.getType(); });
  };
  OpBuilder builder(ops.back());
  builder.setInsertionPointAfter(ops.back());
  auto call = CheckpointOp::create(builder, ops.front()->getLoc(),
                                   types(border.results), "",
                                   border.operands.getArrayRef(),
                                   keepsDots ? "dots" : "nothing", ArrayAttr());

  auto callee = func::FuncOp::create(
      function.getLoc(), (function.getName() + "_region").str(),
      builder.getFunctionType(types(border.operands), types(border.results)));
  callee.setPrivate();
  Block *body = callee.addEntryBlock();
  for (Operation *op : ops)
    op->moveBefore(body, body->end());
  auto isInside = [&](OpOperand &use) {
    return use.getOwner()->getBlock() == body;
  };
  for (auto [operand, argument] :
       llvm::zip_equal(border.operands, body->getArguments()))
    Value(operand).replaceUsesWithIf(argument, isInside);
  for (auto [result, value] :
       llvm::zip_equal(border.results, call.getResults()))
    result.replaceUsesWithIf(value, std::not_fn(isInside));
  builder.setInsertionPointToEnd(body);
  func::ReturnOp::create(builder, function.getLoc(), border.results);
  call.setCallee(symbols.insert(callee));
  return call;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct CheckpointRegions
    : weft::impl::CheckpointRegionsBase<CheckpointRegions> {
  using CheckpointRegionsBase::CheckpointRegionsBase;

  void runOnInput() override;

private:
  LogicalResult readRanges();
  void visit(ValueAndGradOp gradient, func::FuncOp function,
             SymbolTable &symbols);

  /// Those within others come first.
  std::vector<ChainRange> parsed;
  /// Regions are numbered through all functions.
  size_t numRegions = 0;
};
} // namespace

LogicalResult CheckpointRegions::readRanges() {
  bool legal = true;
  for (const std::string &text : ranges) {
    if (std::optional<ChainRange> range = parseRange(text)) {
      parsed.push_back(*range);
      continue;
    }
    getOperation().emitError(
        "ranges: expected first:end or first:end:dots with "
        "first < end, got \"")
        << text << "\"";
    legal = false;
  }
  llvm::stable_sort(parsed, [](const ChainRange &a, const ChainRange &b) {
    return a.end - a.begin < b.end - b.begin;
  });
  return success(legal);
}

void CheckpointRegions::visit(ValueAndGradOp gradient, func::FuncOp function,
                              SymbolTable &symbols) {
  std::vector<CheckpointRegion> regions = findRegions(gradient, function);
  size_t first = numRegions, count = regions.size();
  numRegions += count;
  for (auto [index, region] : llvm::enumerate(regions))
    for (Operation *op : region)
      setOrigin(op, withRegion(getOrigin(op), first + index, &getContext()));
  auto mine = llvm::make_filter_range(parsed, [&](const ChainRange &range) {
    return range.begin >= first && range.end <= first + count;
  });
  if (mine.empty())
    return;
  Chain chain(function, std::move(regions), symbols);
  chain.copyConstants();
  for (const ChainRange &range : mine)
    chain.checkpoint(range.begin - first, range.end - first, range.keepsDots);
}

void CheckpointRegions::runOnInput() {
  if (failed(readRanges()))
    return signalPassFailure();
  SymbolTable symbols(getOperation());
  llvm::MapVector<func::FuncOp, ValueAndGradOp> firstCalls;
  llvm::DenseMap<Operation *, int64_t> calls;
  SmallVector<ValueAndGradOp> gradients;
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (function.isPublic())
      function.walk([&](ValueAndGradOp op) { gradients.push_back(op); });
  for (ValueAndGradOp gradient : gradients) {
    auto function = symbols.lookup<func::FuncOp>(gradient.getCallee());
    if (!function.getBody().hasOneBlock())
      continue;
    firstCalls.insert({function, gradient});
    ++calls[function];
  }
  SmallVector<int64_t> chains;
  for (auto [function, gradient] : firstCalls) {
    size_t first = numRegions;
    visit(gradient, function, symbols);
    chains.append({int64_t(numRegions - first), calls[function]});
  }
  getOperation()->setAttr(kChainsAttrName,
                          DenseI64ArrayAttr::get(&getContext(), chains));
}
