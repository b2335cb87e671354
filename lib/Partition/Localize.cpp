//===- Localize.cpp - Local shapes and collectives ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalAttention.h"
#include "LocalForms.h"
#include "LocalGather.h"
#include "ReshardPrices.h"
#include "ValueName.h"

#include "weft/IR/Origin.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Partition/Passes.h"

namespace weft {
#define GEN_PASS_DEF_LOCALIZE
#include "weft/Partition/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;
using sharding::ReshardKind;
using sharding::ReshardPlan;
using sharding::ReshardStep;
using sharding::Sharding;

namespace {

/// Plans, remembered: equal layers ask for equal reshards.
class Plans {
public:
  explicit Plans(const sharding::Mesh &mesh) : mesh(mesh) {}

  const std::optional<ReshardPlan> &get(ShardingAttr from, ShardingAttr to,
                                        RankedTensorType type) {
    auto [entry, isNew] = plans.try_emplace({from, to, type});
    if (isNew) {
      FailureOr<Sharding> source = from.toSharding(mesh),
                          target = to.toSharding(mesh);
      if (succeeded(source) && succeeded(target))
        entry->second = planReshard(mesh, type.getShape(), elementBytes(type),
                                    *source, *target, cost);
    }
    return entry->second;
  }

private:
  const sharding::Mesh &mesh;
  cost::CollectiveCost cost;
  DenseMap<std::tuple<ShardingAttr, ShardingAttr, Type>,
           std::optional<ReshardPlan>>
      plans;
};

/// Collectives emitted, and bytes that a device sends in them.
struct Traffic {
  int64_t allGathers = 0, reduceScatters = 0, allReduces = 0, allToAlls = 0,
          permutes = 0, wireBytes = 0;

  void add(const ReshardPlan &plan);
  /// Counts `op` if it is a step of a ring over `axes`.
  void add(Operation &op, const sharding::AxisList &axes);
};

class Localizer {
public:
  explicit Localizer(MeshContext meshContext)
      : context(std::move(meshContext)), plans(context.mesh) {}
  Localizer(const Localizer &) = delete;

  LogicalResult localizeFunction(func::FuncOp function);
  const Traffic &getTraffic() const { return traffic; }

private:
  LogicalResult localizeOp(Operation *op);
  LogicalResult localizeReshard(ReshardOp op);
  LogicalResult localizeAttention(Operation *op, ArrayRef<ShardingAttr> made);
  /// Gives `result` its local type; the value that stands for it from now on.
  FailureOr<Value> localizeResult(Value result, RankedTensorType local,
                                  ShardingAttr attr);
  void localizeSignature(func::FuncOp function);
  /// Local type of a value under a sharding; null, after an error, if the axes
  /// do not divide it.
  RankedTensorType localType(Location loc, RankedTensorType global,
                             ShardingAttr sharding);
  ShardingAttr shardingOf(Value value);
  /// Axes that split a dimension of a value that has its local type already.
  sharding::AxisList axesOf(Value localized, int64_t dim);
  /// For each dimension that the slice does not take whole the axes that split
  /// the operand.
  SmallVector<sharding::AxisList> axesCut(SliceOp slice);

  MeshContext context;
  Plans plans;
  Traffic traffic;
  /// What is forgotten when a value gets its local type.
  DenseMap<Value, RankedTensorType> globalTypes;
  DenseMap<Value, ShardingAttr> shardings;
};

} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

ShardingAttr Localizer::shardingOf(Value value) {
  if (ShardingAttr sharding = getSharding(value))
    return sharding;
  return ShardingAttr::getClosed(
      context.symbol, cast<RankedTensorType>(value.getType()).getRank());
}

sharding::AxisList Localizer::axesOf(Value localized, int64_t dim) {
  FailureOr<Sharding> sharding =
      shardings.at(localized).toSharding(context.mesh);
  return sharding->dims[dim].axes;
}

SmallVector<sharding::AxisList> Localizer::axesCut(SliceOp slice) {
  RankedTensorType global = globalTypes.at(slice.getOperand());
  SmallVector<sharding::AxisList> split(global.getRank());
  for (auto [dim, axes] : llvm::enumerate(split))
    if (global.getDimSize(dim) != slice.getType().getDimSize(dim))
      axes = axesOf(slice.getOperand(), dim);
  for (sharding::AxisList &axes : split)
    if (numShards(axes) == 1)
      axes.clear();
  return split;
}

RankedTensorType Localizer::localType(Location loc, RankedTensorType global,
                                      ShardingAttr attr) {
  FailureOr<Sharding> sharding = attr.toSharding(context.mesh);
  std::optional<sharding::Shape> shape;
  if (succeeded(sharding))
    shape = sharding::localShape(global.getShape(), *sharding);
  if (!shape) {
    emitError(loc) << "the axes of " << attr << " do not divide " << global
                   << "; run --weft-insert-reshards before";
    return {};
  }
  return global.clone(*shape);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void Traffic::add(const ReshardPlan &plan) {
  wireBytes += plan.wireBytes();
  for (const ReshardStep &step : plan.steps) {
    allGathers += step.kind == ReshardKind::AllGather;
    reduceScatters += step.kind == ReshardKind::ReduceScatter;
    allReduces += step.kind == ReshardKind::AllReduce;
    allToAlls += step.kind == ReshardKind::AllToAll;
    permutes += step.kind == ReshardKind::Permute;
  }
}

void Traffic::add(Operation &op, const sharding::AxisList &axes) {
  auto permute = dyn_cast<PermuteOp>(op);
  if (!permute)
    return;
  ++permutes;
  wireBytes += cost::wireBytes(cost::CollectiveKind::Permute,
                               elementBytes(permute.getType()) *
                                   permute.getType().getNumElements(),
                               numShards(axes));
}

LogicalResult Localizer::localizeReshard(ReshardOp op) {
  RankedTensorType global = globalTypes.at(op.getOperand());
  ShardingAttr from = shardings.at(op.getOperand()), to = op.getSharding();
  const std::optional<ReshardPlan> &plan = plans.get(from, to, global);
  if (!plan)
    return op.emitError() << "there is no way from " << from << " to " << to
                          << " for " << global;
  traffic.add(*plan);
  auto cause = op->getAttrOfType<StringAttr>("cause");
  OpBuilder builder(op);
  Value value =
      lowerReshard(builder, op.getLoc(), context, *plan, op.getOperand(),
                   global, from.getUnreducedKind(), cause);
  globalTypes[value] = global;
  shardings[value] = to;
  op.getResult().replaceAllUsesWith(value);
  op.erase();
  return success();
}

LogicalResult Localizer::localizeOp(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return success();
  if (isa<ConstraintOp>(op))
    return op->emitError()
           << "a constraint is left; run --weft-insert-reshards before";
  OriginScope scope(op);
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return localizeReshard(reshard);
  SmallVector<ShardingAttr, 1> made = llvm::map_to_vector<1>(
      op->getResults(), [&](Value result) { return shardingOf(result); });
  removeShardings(op);
  if (isa<AttentionOp, AttentionGradOp>(op))
    return localizeAttention(op, made);
  // A rewrite of an op with one result may put another value in its place.
  SmallVector<Value, 1> results(op->getResults());
  for (auto [result, sharding] : llvm::zip_equal(results, made)) {
    auto global = cast<RankedTensorType>(result.getType());
    RankedTensorType local = localType(op->getLoc(), global, sharding);
    if (!local)
      return failure();
    FailureOr<Value> localized = localizeResult(result, local, sharding);
    if (failed(localized))
      return failure();
    globalTypes[*localized] = global;
    shardings[*localized] = sharding;
  }
  return success();
}

LogicalResult Localizer::localizeAttention(Operation *op,
                                           ArrayRef<ShardingAttr> made) {
  SplitAttention attention;
  attention.op = op;
  SmallVector<RankedTensorType, 3> global;
  for (auto [result, sharding] : llvm::zip_equal(op->getResults(), made)) {
    global.push_back(cast<RankedTensorType>(result.getType()));
    attention.local.push_back(localType(op->getLoc(), global.back(), sharding));
    if (!attention.local.back())
      return failure();
  }
  attention.axes = axesOf(op->getOperand(0), 1);
  attention.areKeysSplit = numShards(axesOf(op->getOperand(1), 1)) > 1;
  SmallVector<Value, 3> results(op->getResults());
  if (numShards(attention.axes) > 1) {
    Operation *before = op->getPrevNode(), *after = op->getNextNode();
    results = weft::localizeAttention(attention, context);
    Block::iterator begin =
        before ? std::next(before->getIterator()) : after->getBlock()->begin();
    for (Operation &emitted : llvm::make_range(begin, after->getIterator()))
      traffic.add(emitted, attention.axes);
  } else {
    for (auto [result, type] : llvm::zip_equal(results, attention.local))
      result.setType(type);
  }
  for (auto [result, type, sharding] : llvm::zip_equal(results, global, made)) {
    globalTypes[result] = type;
    shardings[result] = sharding;
  }
  return success();
}

FailureOr<Value> Localizer::localizeResult(Value result, RankedTensorType local,
                                           ShardingAttr attr) {
  Operation *op = result.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (failed(localizeConstant(constant, local)))
      return failure();
    return result;
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    SmallVector<sharding::AxisList> split = axesCut(slice);
    if (llvm::any_of(split, [](auto &axes) { return !axes.empty(); }))
      return localizeSplitSlice(slice, globalTypes.at(slice.getOperand()),
                                split, context);
    localizeSlice(slice, local);
    return result;
  }
  if (auto iota = dyn_cast<IotaOp>(op)) {
    FailureOr<Sharding> sharding = attr.toSharding(context.mesh);
    const sharding::AxisList &axes = sharding->dims[iota.getDim()].axes;
    if (numShards(axes) > 1)
      return localizeIota(iota, local, axes, context);
  }
  if (auto mask = dyn_cast<MaskPaddingOp>(op)) {
    FailureOr<Sharding> sharding = attr.toSharding(context.mesh);
    return localizeMask(mask, local, sharding->dims[mask.getDim()].axes,
                        context);
  }
  if (auto gather = dyn_cast<GatherOp>(op)) {
    sharding::AxisList axes = axesOf(gather.getOperand(), gather.getDim());
    if (numShards(axes) > 1)
      return localizeGather(gather, globalTypes.at(gather.getOperand()), axes,
                            context);
  }
  if (auto scatter = dyn_cast<ScatterAddOp>(op)) {
    FailureOr<Sharding> sharding = attr.toSharding(context.mesh);
    const sharding::AxisList &axes = sharding->dims[scatter.getDim()].axes;
    if (numShards(axes) > 1)
      localizeScatterAddIndices(scatter, local, axes, context);
  }
  result.setType(local);
  return result;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// The attributes of an argument or result with its sharding and global type.
/// One that was padded has its global type already.
static DictionaryAttr annotate(DictionaryAttr attrs, ShardingAttr sharding,
                               RankedTensorType global) {
  NamedAttrList list(attrs);
  list.set(WeftDialect::kShardingAttrName, sharding);
  if (!list.get(WeftDialect::kGlobalTypeAttrName))
    list.set(WeftDialect::kGlobalTypeAttrName, TypeAttr::get(global));
  return list.getDictionary(sharding.getContext());
}

/// Rewrites the function's type after its arguments and returned values. All
/// attributes are set at once: one by one would be quadratic.
void Localizer::localizeSignature(func::FuncOp function) {
  Block &block = function.getBody().front();
  Operation *ret = block.getTerminator();
  SmallVector<DictionaryAttr> arguments, results;
  for (BlockArgument argument : block.getArguments())
    arguments.push_back(
        annotate(function.getArgAttrDict(argument.getArgNumber()),
                 shardings.at(argument), globalTypes.at(argument)));
  for (OpOperand &use : ret->getOpOperands()) {
    unsigned index = use.getOperandNumber();
    ShardingAttr declared = getResultSharding(function, index);
    results.push_back(annotate(function.getResultAttrDict(index),
                               declared ? declared : shardings.at(use.get()),
                               globalTypes.at(use.get())));
  }
  function.setType(FunctionType::get(
      function.getContext(), block.getArgumentTypes(), ret->getOperandTypes()));
  function.setAllArgAttrs(arguments);
  function.setAllResultAttrs(results);
}

LogicalResult Localizer::localizeFunction(func::FuncOp function) {
  globalTypes.clear();
  shardings.clear();
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    auto global = cast<RankedTensorType>(argument.getType());
    ShardingAttr sharding = shardingOf(argument);
    RankedTensorType local = localType(argument.getLoc(), global, sharding);
    if (!local)
      return failure();
    argument.setType(local);
    globalTypes[argument] = global;
    shardings[argument] = sharding;
  }
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(localizeOp(&op)))
      return failure();
  localizeSignature(function);
  return success();
}

namespace {

struct Localize : weft::impl::LocalizeBase<Localize> {
  using LocalizeBase::LocalizeBase;

  void runOnInput() override {
    ModuleOp module = getOperation();
    if (module.getOps<func::FuncOp>().empty())
      return;
    MeshOp mesh = findMesh(module);
    if (!mesh) {
      module.emitError() << "cannot partition without a mesh; declare one, "
                            "for example weft.mesh @mesh = <[\"data\"=1]>";
      return signalPassFailure();
    }
    Localizer localizer({FlatSymbolRefAttr::get(mesh.getSymNameAttr()),
                         mesh.getMesh().toMesh()});
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() &&
          failed(localizer.localizeFunction(function)))
        return signalPassFailure();
    report(localizer.getTraffic());
  }

  void report(const Traffic &traffic) {
    allGathers += traffic.allGathers;
    reduceScatters += traffic.reduceScatters;
    allReduces += traffic.allReduces;
    allToAlls += traffic.allToAlls;
    permutes += traffic.permutes;
    wireBytes += traffic.wireBytes;
  }
};

} // namespace
