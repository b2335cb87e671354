//===- Localize.cpp - Local shapes and collectives ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalForms.h"
#include "LowerReshard.h"
#include "ReshardPrices.h"

#include "weft/IR/AxisProvenance.h"
#include "weft/IR/ClusterCost.h"
#include "weft/IR/Origin.h"
#include "weft/IR/StageMesh.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Partition/Passes.h"

namespace weft {
#define GEN_PASS_DEF_LOCALIZE
#include "weft/Partition/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;
using sharding::ReshardPlan;
using sharding::Sharding;

namespace {

/// By the cost model, of a plan that gathers and reduces alone; else no value.
std::optional<double> predictedSeconds(const ReshardPlan &plan, MeshOp meshOp,
                                       const cost::CostModel &model) {
  double seconds = 0;
  for (const sharding::ReshardStep &step : plan.steps) {
    if (step.isLocal())
      continue;
    std::optional<cost::CollectiveKind> kind = collectiveOf(step);
    const int64_t ranks = sharding::numShards(step.axes);
    if (kind != cost::CollectiveKind::AllGather &&
        kind != cost::CollectiveKind::ReduceScatter &&
        kind != cost::CollectiveKind::AllReduce)
      return std::nullopt;
    seconds +=
        model
            .collective({*kind,
                         double(step.wireBytes) / cost::busFactor(*kind, ranks),
                         placeGroups(model, meshOp, step.axes)})
            .seconds;
  }
  return seconds;
}

/// Plans, remembered: equal layers ask for equal reshards.
class Plans {
public:
  Plans(const sharding::Mesh &mesh, MeshOp meshOp, const cost::CostModel &model)
      : mesh(mesh), meshOp(meshOp), model(model), links(model.links()),
        anywhere(links.link(mesh.numDevices())) {}

  const std::optional<ReshardPlan> &get(ShardingAttr from, ShardingAttr to,
                                        RankedTensorType type,
                                        bool isGradient) {
    auto [entry, isNew] = plans.try_emplace({from, to, type, int(isGradient)});
    if (isNew) {
      FailureOr<Sharding> source = from.toSharding(mesh),
                          target = to.toSharding(mesh);
      if (succeeded(source) && succeeded(target))
        entry->second = plan(*source, *target, type, isGradient);
    }
    return entry->second;
  }

private:
  std::optional<ReshardPlan> plan(const Sharding &from, const Sharding &to,
                                  RankedTensorType type,
                                  bool isGradient) const {
    auto planWith = [&](const cost::CollectiveCost &cost) {
      return planReshard(mesh, type.getShape(), elementBytes(type), from, to,
                         cost);
    };
    std::optional<ReshardPlan> stepwise = planWith(links);
    if (!stepwise || stepwise->steps.size() < 2)
      return stepwise;
    // The search prices a group by its slowest link, as if each of its devices
    // had one. A library goes through the nodes of a group by itself, with all
    // of their links at once.
    std::optional<ReshardPlan> atOnce = planWith(anywhere);
    // But for the rounding of a ring's parts.
    const int64_t rounding = 2 * mesh.numDevices();
    if (!atOnce || atOnce->steps.size() >= stepwise->steps.size() ||
        atOnce->wireBytes() > stepwise->wireBytes() + rounding)
      return stepwise;
    auto secondsOf = [&](const ReshardPlan &plan) {
      return predictedSeconds(plan, meshOp, model);
    };
    const std::optional<double> seconds = secondsOf(*atOnce),
                                others = secondsOf(*stepwise);
    // One call is combined with others more often than several are, which then
    // must gain a third.
    const double worthSeveral = isGradient ? 1.5 : 1;
    return seconds && others && *seconds <= worthSeveral * *others ? atOnce
                                                                   : stepwise;
  }

  const sharding::Mesh &mesh;
  MeshOp meshOp;
  const cost::CostModel &model;
  /// Of a cluster, and as if all devices were as far as those of the mesh are.
  const cost::CollectiveCost links, anywhere;
  DenseMap<std::tuple<ShardingAttr, ShardingAttr, Type, int>,
           std::optional<ReshardPlan>>
      plans;
};

/// Collectives emitted, and bytes that a device sends in them.
struct Traffic {
  std::array<int64_t, 6> collectives = {};
  int64_t wireBytes = 0;

  int64_t count(cost::CollectiveKind kind) const {
    return collectives[static_cast<size_t>(kind)];
  }
  /// Counts `op` if it is a collective, or those of a loop.
  void add(Operation *op, int64_t times = 1) {
    if (auto communication = dyn_cast<CommunicationOpInterface>(op)) {
      collectives[static_cast<size_t>(communication.getCollectiveKind())] +=
          times;
      wireBytes += times * countWireBytes(communication);
    }
    if (auto loop = dyn_cast<RepeatOp>(op))
      for (Operation &inner : loop.getBlock())
        add(&inner, times * loop.getCount());
  }
};

class Localizer {
public:
  Localizer(MeshContext meshContext, MeshOp meshOp,
            const cost::CostModel &model, bool keepsCpuInstructions)
      : context(std::move(meshContext)), plans(context.mesh, meshOp, model),
        keepsCpuInstructions(keepsCpuInstructions) {}
  Localizer(const Localizer &) = delete;

  LogicalResult localizeFunction(func::FuncOp function);
  const Traffic &getTraffic() const { return traffic; }

private:
  LogicalResult localizeOp(Operation *op);
  LogicalResult localizeReshard(ReshardOp op);
  LogicalResult localizeResults(Operation *op);
  LocalForm describe(Operation *op, ArrayRef<RankedTensorType> types,
                     ArrayRef<ShardingAttr> made) const;
  void localizeSignature(func::FuncOp function);
  /// Local type of a value under a sharding; null, after an error, if the axes
  /// do not divide it.
  RankedTensorType localType(Location loc, RankedTensorType global,
                             ShardingAttr sharding);
  ShardingAttr shardingOf(Value value);

  MeshContext context;
  Plans plans;
  const bool keepsCpuInstructions;
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

LogicalResult Localizer::localizeReshard(ReshardOp op) {
  RankedTensorType global = globalTypes.at(op.getOperand());
  ShardingAttr from = shardings.at(op.getOperand()), to = op.getSharding();
  const bool isGradient = !gradientOf(getValueOrigin(op.getOperand())).empty();
  const std::optional<ReshardPlan> &plan =
      plans.get(from, to, global, isGradient);
  if (!plan)
    return op.emitError() << "cannot reshard " << from << " to " << to
                          << " for " << global;
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

LocalForm Localizer::describe(Operation *op, ArrayRef<RankedTensorType> types,
                              ArrayRef<ShardingAttr> made) const {
  LocalForm form{context,
                 {},
                 {},
                 SmallVector<RankedTensorType>(types),
                 SmallVector<ShardingAttr>(made),
                 keepsCpuInstructions};
  for (Value operand : op->getOperands()) {
    form.globalTypes.push_back(globalTypes.at(operand));
    form.operands.push_back(shardings.at(operand));
  }
  return form;
}

LogicalResult Localizer::localizeResults(Operation *op) {
  auto made = llvm::map_to_vector(
      op->getResults(), [&](Value result) { return shardingOf(result); });
  removeShardings(op);
  SmallVector<RankedTensorType> global, local;
  for (auto [result, sharding] : llvm::zip_equal(op->getResults(), made)) {
    global.push_back(typeOf(result));
    local.push_back(localType(op->getLoc(), global.back(), sharding));
    if (!local.back())
      return failure();
  }
  FailureOr<SmallVector<Value>> results(SmallVector<Value>(op->getResults()));
  if (auto model = dyn_cast<LocalFormOpInterface>(op))
    results = model.localize(describe(op, local, made));
  else
    results = setTypes(op, local);
  if (failed(results))
    return failure();
  for (auto [result, type, sharding] :
       llvm::zip_equal(*results, global, made)) {
    globalTypes[result] = type;
    shardings[result] = sharding;
  }
  return success();
}

LogicalResult Localizer::localizeOp(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return success();
  if (isa<ConstraintOp>(op))
    return op->emitError()
           << "a constraint is left; run --weft-insert-reshards before";
  OriginScope scope(op);
  Operation *before = op->getPrevNode(), *after = op->getNextNode();
  Block *block = op->getBlock();
  auto reshard = dyn_cast<ReshardOp>(op);
  if (failed(reshard ? localizeReshard(reshard) : localizeResults(op)))
    return failure();
  Block::iterator begin =
      before ? std::next(before->getIterator()) : block->begin();
  for (Operation &emitted : llvm::make_range(begin, after->getIterator()))
    traffic.add(&emitted);
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// The attributes of an argument or result with its sharding and global type.
/// One that was padded has its global type already.
static DictionaryAttr annotate(DictionaryAttr attrs, ShardingAttr sharding,
                               RankedTensorType global) {
  NamedAttrList list(attrs);
  list.erase(kProvenanceAttrName);
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
  // What is needed of it is in the reasons of the module.
  for (Operation &op : block)
    op.removeAttr(kProvenanceAttrName);
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
    FailureOr<cost::CostModel> model = loadCostModel(module, cluster);
    if (failed(model))
      return signalPassFailure();
    Localizer localizer({FlatSymbolRefAttr::get(mesh.getSymNameAttr()),
                         meshOfStage(mesh, model->cluster())},
                        mesh, *model, keepCpuInstructions);
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() &&
          failed(localizer.localizeFunction(function)))
        return signalPassFailure();
    report(localizer.getTraffic());
  }

  void report(const Traffic &traffic) {
    using cost::CollectiveKind;
    allGathers += traffic.count(CollectiveKind::AllGather);
    reduceScatters += traffic.count(CollectiveKind::ReduceScatter);
    allReduces += traffic.count(CollectiveKind::AllReduce);
    allToAlls += traffic.count(CollectiveKind::AllToAll);
    permutes += traffic.count(CollectiveKind::Permute);
    exchanges += traffic.count(CollectiveKind::Exchange);
    wireBytes += traffic.wireBytes;
  }
};

} // namespace
