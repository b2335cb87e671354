//===- SplitCollectives.cpp - Collectives behind matmuls ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CutRegion.h"
#include "CutRules.h"
#include "FreeOrder.h"
#include "PieceTimes.h"
#include "PieceWriter.h"

#include "weft/Schedule/Passes.h"

#include "weft/IR/ClusterCost.h"
#include "weft/IR/Origin.h"
#include "weft/IR/SavedTime.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace weft {
#define GEN_PASS_DEF_SPLITCOLLECTIVES
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// Whether a matmul reads the result in pieces.
static bool isReadByMatmul(Operation *op) {
  return llvm::any_of(op->getUses(), [](OpOperand &use) {
    auto product = dyn_cast<ProductOpInterface>(use.getOwner());
    auto rule = product ? findCutOperands(product) : std::nullopt;
    return rule && (*rule)[use.getOperandNumber()];
  });
}

/// Element-wise ops that are looked behind for a matmul.
static constexpr int64_t mostLookedBehind = 8;

/// Whether a matmul makes the operand in pieces, with element-wise ops behind.
static bool isMadeByMatmul(Operation *op, int64_t depth = mostLookedBehind) {
  Operation *producer = op->getOperand(0).getDefiningOp();
  if (!producer || depth == 0 || isa<ReduceOp>(producer) ||
      producer->getNumOperands() == 0 || !findCutOperands(producer))
    return false;
  return isa<ProductOpInterface>(producer) ||
         isMadeByMatmul(producer, depth - 1);
}

/// A share of its time by which the pieces of a collective may take longer.
static constexpr double mostLost = 0.5;
/// A share of a block's time that pieces must save: less is within the error of
/// the model, and not worth a larger program.
static constexpr double leastBlockTimeSaved = 0.02;
/// A share of its time that a collective must be waited for.
static constexpr double leastExposed = 0.1;

namespace {

using Ops = llvm::DenseSet<Operation *>;

/// Collectives to cut, and what else is cut for their sake.
struct Cut {
  int64_t pieces = 1;
  Ops collectives, region;
  double seconds = 0;
};

class Chooser {
public:
  Chooser(Block &block, const cost::CostModel &model)
      : block(block), model(model) {}

  Cut everything(int64_t pieces);
  Cut fastest();
  double secondsBefore() const { return before.seconds; }
  /// Removes the marks of what is not cut.
  void finish(const Cut &cut) const;

private:
  void findCandidates(int64_t pieces);
  void addGroup(Ops group);
  bool isLong(Operation *op, int64_t pieces) const;
  bool isExposed(Operation *op) const;
  llvm::SetVector<Attribute> findAxes() const;
  Ops select(Attribute axes, int64_t pieces, bool onlyExposed) const;
  Cut describe(Ops collectives, int64_t pieces) const;

  Block &block;
  const cost::CostModel &model;
  PieceTimes before;
  /// Each by itself; and those that are cut all or not at all.
  Ops single;
  std::vector<Ops> groups;
};

} // namespace

/// Sums of gradients are cut, or not, where they are combined.
static bool isCandidate(Operation *op, int64_t pieces) {
  auto collective = dyn_cast<CommunicationOpInterface>(op);
  return collective && (collective.isAllGather() || collective.isReduction()) &&
         gradientOf(getOrigin(op)).empty() &&
         canCut(op->getResult(0), pieces) && canCut(op->getOperand(0), pieces);
}

/// Whether all can be cut but for the order of their rows, and none is of
/// another group.
static bool canCutAll(const Ops &group, int64_t pieces) {
  return llvm::all_of(group, [&](Operation *op) {
    return canCut(op->getResult(0), pieces) &&
           canCut(op->getOperand(0), pieces) &&
           !op->hasAttr(kFreeOrderAttrName);
  });
}

void Chooser::finish(const Cut &cut) const {
  for (const Ops &group : groups)
    if (!cut.collectives.contains(*group.begin()))
      for (Operation *op : group)
        op->removeAttr(kFreeOrderAttrName);
}

void Chooser::findCandidates(int64_t pieces) {
  finish({});
  single.clear();
  groups.clear();
  for (Operation &op : block)
    if (isCandidate(&op, pieces) && canCut(&op, pieces) &&
        (isReadByMatmul(&op) || isMadeByMatmul(&op)))
      single.insert(&op);
  // Groups of whole rows are smaller.
  for (bool ofWhole : {true, false}) {
    Ops others;
    for (Operation &op : block) {
      if (!isCandidate(&op, pieces) || findCutOperands(&op) ||
          others.contains(&op))
        continue;
      Ops group;
      if (findFreeOrder(&op, ofWhole, group) && canCutAll(group, pieces))
        addGroup(std::move(group));
      else
        others.insert(group.begin(), group.end());
    }
  }
}

void Chooser::addGroup(Ops group) {
  for (Operation *op : group)
    op->setAttr(kFreeOrderAttrName, UnitAttr::get(op->getContext()));
  groups.push_back(std::move(group));
}

Cut Chooser::describe(Ops collectives, int64_t pieces) const {
  Cut cut;
  cut.pieces = pieces;
  cut.region = findCutRegion(block, collectives, pieces);
  cut.collectives = std::move(collectives);
  cut.seconds = predictPieces(block, cut.region, pieces, model).seconds;
  return cut;
}

/// Whether its pieces take not much longer together.
bool Chooser::isLong(Operation *op, int64_t pieces) const {
  cost::CollectiveCall call = callOf(cast<CommunicationOpInterface>(op), model);
  const double whole = model.collective(call).seconds;
  call.bytes /= double(pieces);
  return double(pieces) * model.collective(call).seconds <
         (1 + mostLost) * whole;
}

bool Chooser::isExposed(Operation *op) const {
  cost::CollectiveCall call = callOf(cast<CommunicationOpInterface>(op), model);
  return before.exposed.lookup(op) >
         leastExposed * model.collective(call).seconds;
}

Cut Chooser::everything(int64_t pieces) {
  findCandidates(pieces);
  Ops all = single;
  for (const Ops &group : groups)
    all.insert(group.begin(), group.end());
  before = predictPieces(block, {}, 1, model);
  return describe(std::move(all), pieces);
}

/// The axes of what may be cut, in program order.
llvm::SetVector<Attribute> Chooser::findAxes() const {
  llvm::SetVector<Attribute> axes;
  for (Operation &op : block)
    if (single.contains(&op) || op.hasAttr(kFreeOrderAttrName))
      axes.insert(cast<CommunicationOpInterface>(op).getAxes());
  return axes;
}

/// Over some axes what the block waits for, or that and all else that is long.
Ops Chooser::select(Attribute axes, int64_t pieces, bool onlyExposed) const {
  Ops selected;
  auto isOverAxes = [&](Operation *op) {
    return cast<CommunicationOpInterface>(op).getAxes() == axes &&
           isLong(op, pieces);
  };
  for (Operation *op : single)
    if (isOverAxes(op) && (!onlyExposed || isExposed(op)))
      selected.insert(op);
  for (const Ops &group : groups)
    if (llvm::all_of(group, isOverAxes) &&
        llvm::any_of(group, [&](Operation *op) { return isExposed(op); }))
      selected.insert(group.begin(), group.end());
  return selected;
}

/// Two pieces are most of what there is to gain.
Cut Chooser::fastest() {
  constexpr int64_t pieces = 2;
  findCandidates(pieces);
  if (single.empty() && groups.empty())
    return {};
  before = predictPieces(block, {}, 1, model);
  Cut best;
  best.seconds = (1 - leastBlockTimeSaved) * before.seconds;
  for (Attribute axes : findAxes()) {
    const Ops others = best.collectives;
    size_t last = 0;
    for (bool onlyExposed : {true, false}) {
      Ops selected = select(axes, pieces, onlyExposed);
      if (selected.size() == last)
        continue;
      last = selected.size();
      selected.insert(others.begin(), others.end());
      Cut cut = describe(std::move(selected), pieces);
      if (cut.seconds < best.seconds)
        best = std::move(cut);
    }
  }
  return best;
}

namespace {

struct SplitCollectives : weft::impl::SplitCollectivesBase<SplitCollectives> {
  using SplitCollectivesBase::SplitCollectivesBase;

  void runOnInput() override {
    if (pieces == 1)
      return;
    FailureOr<cost::CostModel> model = loadCostModel(getOperation(), cluster);
    if (failed(model))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](Block *block) { split(*block, *model); });
  }

  void split(Block &block, const cost::CostModel &model) {
    Chooser chooser(block, model);
    Cut cut = pieces ? chooser.everything(pieces) : chooser.fastest();
    chooser.finish(cut);
    if (cut.collectives.empty())
      return;
    addSavedTime(block,
                 {std::to_string(cut.collectives.size()) +
                      (cut.collectives.size() == 1 ? " collective in "
                                                   : " collectives in ") +
                      std::to_string(cut.pieces) + " pieces each,",
                  chooser.secondsBefore(), cut.seconds});
    writeInPieces(block, cut.region, cut.pieces);
    numSplit += cut.collectives.size();
  }
};

} // namespace
