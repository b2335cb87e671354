//===- SplitTransfers.cpp - Send parts instead of copies ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scatter and gather (Narayanan et al. 2021, section 4.1): ranks that all hold
// a value send a part each, and those that receive it put it together over
// their own links, which are faster.
//
//===----------------------------------------------------------------------===//

#include "LoopCaptures.h"
#include "Stages.h"

#include "weft/Cost/Bytes.h"
#include "weft/IR/ClusterCost.h"
#include "weft/IR/Origin.h"
#include "weft/IR/Reasons.h"
#include "weft/IR/StagePipeline.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Pipelining/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#include <set>

namespace weft {
#define GEN_PASS_DEF_SPLITTRANSFERS
#include "weft/Pipelining/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

namespace {

/// Along which mesh axes the ranks of a stage may hold different values.
using Axes = std::set<std::string>;

class TransferSplitter {
public:
  TransferSplitter(func::FuncOp entry, MeshOp meshOp, StringRef axis,
                   const cost::CostModel &model)
      : entry(entry), meshOp(meshOp), mesh(meshOp.getMesh().toMesh()),
        pipeAxis(axis), model(model) {}

  int64_t run();

private:
  void findDifferences();
  Axes differencesOf(Operation *op) const;
  std::vector<sharding::AxisRef> findCommonAxes(Value value) const;
  int64_t sizeOf(ArrayRef<sharding::AxisRef> axes) const;
  /// Predicted seconds of the two ways to another stage.
  struct Times {
    double parts, whole;
  };
  Times timesOf(Value value, ArrayRef<sharding::AxisRef> axes) const;
  bool split(Value value, int64_t stage, ArrayRef<OpOperand *> uses);

  func::FuncOp entry;
  MeshOp meshOp;
  const sharding::Mesh mesh;
  StringRef pipeAxis;
  const cost::CostModel &model;
  llvm::DenseMap<Value, Axes> differences;
};

} // namespace

static void addAxes(Attribute attribute, Axes &axes) {
  if (attribute)
    attribute.walk([&](AxisRefAttr ref) { axes.insert(ref.getName().str()); });
}

/// A result is the same where the operands are, but for what collectives along
/// an axis give each rank of it; those that give all the same make it the same.
Axes TransferSplitter::differencesOf(Operation *op) const {
  Axes axes;
  for (Value operand : op->getOperands())
    if (auto found = differences.find(operand); found != differences.end())
      axes.insert(found->second.begin(), found->second.end());
  auto collective = dyn_cast<CommunicationOpInterface>(op);
  bool makesEqual =
      collective && (collective.isAllReduce() || collective.isAllGather());
  if (!makesEqual) {
    addAxes(op->getAttrDictionary(), axes);
    return axes;
  }
  for (AxisRefAttr ref : collective.getAxes().getAxes())
    if (ref.isFullAxis())
      axes.erase(ref.getName().str());
  return axes;
}

void TransferSplitter::findDifferences() {
  for (BlockArgument argument : entry.getArguments())
    addAxes(getSharding(argument), differences[argument]);
  for (Operation &op : entry.front()) {
    Axes axes = differencesOf(&op);
    for (Value result : op.getResults())
      differences[result] = axes;
  }
}

/// The axes along which all ranks of the stage hold the value.
std::vector<sharding::AxisRef>
TransferSplitter::findCommonAxes(Value value) const {
  std::vector<sharding::AxisRef> common;
  for (auto [index, axis] : llvm::enumerate(mesh.axes()))
    if (axis.name != pipeAxis && axis.size > 1 &&
        !differences.at(value).count(axis.name))
      common.push_back({int32_t(index), 1, axis.size});
  return common;
}

int64_t TransferSplitter::sizeOf(ArrayRef<sharding::AxisRef> axes) const {
  int64_t size = 1;
  for (const sharding::AxisRef &axis : axes)
    size *= axis.size;
  return size;
}

TransferSplitter::Times
TransferSplitter::timesOf(Value value, ArrayRef<sharding::AxisRef> axes) const {
  sharding::AxisRef along = mesh.fullAxis(*mesh.find(pipeAxis));
  cost::Placement pipe = placeGroups(model, meshOp, along);
  double bytes = bytesOf(value), ranks = double(sizeOf(axes));
  double whole = model.send(bytes, pipe.level);
  double parts = model.send(bytes / ranks, pipe.level) +
                 model
                     .collective({.kind = cost::CollectiveKind::AllGather,
                                  .bytes = bytes,
                                  .group = placeGroups(model, meshOp, axes)})
                     .seconds;
  return {parts, whole};
}

/// Lets another stage use what it puts together from parts.
bool TransferSplitter::split(Value value, int64_t stage,
                             ArrayRef<OpOperand *> uses) {
  std::vector<sharding::AxisRef> axes = findCommonAxes(value);
  int64_t ranks = sizeOf(axes);
  auto type = cast<RankedTensorType>(value.getType());
  int64_t dim = 0;
  while (dim < type.getRank() && type.getDimSize(dim) % ranks != 0)
    ++dim;
  if (ranks == 1 || dim == type.getRank())
    return false;
  Times times = timesOf(value, axes);
  if (times.parts >= times.whole)
    return false;
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= ranks;
  auto group = AxesAttr::get(value.getContext(),
                             FlatSymbolRefAttr::get(meshOp.getSymNameAttr()),
                             mesh, axes);
  OpBuilder b(value.getContext());
  b.setInsertionPointAfterValue(value);
  OriginAttr origin = getValueOrigin(value);
  auto part = AllSliceOp::create(b, value.getLoc(), type.clone(shape), value,
                                 uint64_t(dim), group, /*cause=*/StringAttr());
  setOrigin(part, origin);
  std::string cause = "stage " + std::to_string(stageOf(origin)) +
                      " sends a part from each rank to stage " +
                      std::to_string(stage);
  auto whole = AllGatherOp::create(b, value.getLoc(), type, part, uint64_t(dim),
                                   group, b.getStringAttr(cause));
  addReason(
      entry->getParentOfType<ModuleOp>(),
      {cause,
       {{Reason::End::Choice, "chosen by cost: " + printSeconds(times.parts) +
                                  " to send parts and put them together, " +
                                  printSeconds(times.whole) +
                                  " to send the whole from each rank"}},
       {},
       {}});
  // The first pass that needs it.
  StagePass pass = StagePass::WeightGradient;
  for (OpOperand *use : uses)
    pass = std::min(pass, stagePassOf(getOrigin(use->getOwner())));
  setOrigin(whole, withStage(origin, stage, pass, value.getContext()));
  for (OpOperand *use : uses)
    use->set(whole);
  return true;
}

int64_t TransferSplitter::run() {
  findDifferences();
  Microbatches microbatches(entry.front());
  // By value and stage that needs it.
  llvm::MapVector<std::pair<Value, int64_t>, SmallVector<OpOperand *>>
      transfers;
  for (Operation &op : entry.front().without_terminator())
    for (OpOperand &operand : op.getOpOperands()) {
      Operation *definer = operand.get().getDefiningOp();
      int64_t to = stageOf(getOrigin(&op));
      if (definer && microbatches.loopOf(&op) && microbatches.loopOf(definer) &&
          !leavesMicrobatches(&op) && !getBorder(definer) && to >= 0 &&
          stageOf(getOrigin(definer)) >= 0 && stageOf(getOrigin(definer)) != to)
        transfers[{operand.get(), to}].push_back(&operand);
    }
  int64_t count = 0;
  for (const auto &[place, uses] : transfers)
    count += split(place.first, place.second, uses);
  return count;
}

namespace {

struct SplitTransfers : weft::impl::SplitTransfersBase<SplitTransfers> {
  using SplitTransfersBase::SplitTransfersBase;

  void runOnInput() override {
    MeshOp mesh = findMesh(getOperation());
    std::optional<StagePipeline> pipeline = getPipeline(getOperation());
    if (!mesh || !pipeline)
      return;
    FailureOr<cost::CostModel> model = loadCostModel(getOperation(), cluster);
    if (failed(model))
      return signalPassFailure();
    carryCaptures(getOperation());
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (entry.isPublic() && !entry.isExternal())
        transfers +=
            TransferSplitter(entry, mesh, pipeline->axis, *model).run();
    captureInvariants(getOperation());
  }
};

} // namespace
