//===- InsertReshards.cpp - Make every op computable on parts -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pass over each function in program order. How ops are split is chosen
// before; here it is carried out. For every value there are the versions that
// its users need.
//
//===----------------------------------------------------------------------===//

#include "ChosenSplits.h"
#include "DivisibilityCheck.h"
#include "HeldVersions.h"
#include "LargeTensors.h"
#include "OpChoices.h"
#include "ReshardReasons.h"

#include "weft/IR/ClusterCost.h"
#include "weft/IR/Origin.h"
#include "weft/IR/SourceLocation.h"
#include "weft/IR/StageMesh.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueName.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Partition/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace weft {
#define GEN_PASS_DEF_INSERTRESHARDS
#include "weft/Partition/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;
using sharding::Mesh;

using Id = ReshardPrices::Id;

namespace {

class Inserter {
public:
  Inserter(func::FuncOp function, OpChoices choices, ReshardPrices &prices,
           LargeTensorWarnings &warnings, ReshardReasons &reasons)
      : function(function), choices(std::move(choices)), prices(prices),
        warnings(warnings), reasons(reasons), held(prices),
        builder(function.getContext()) {}

  void run();

  int64_t numReshards = 0;
  int64_t numOnTerms = 0;

private:
  void define(Value value, Id made);
  void visit(Operation *op);
  void visitReturn(func::ReturnOp op);
  void provide(OpOperand &use, Id need);
  Value makeVersion(OpOperand &use, Value value, Id need, bool forSeveral);
  Value withoutElements(OpOperand &use, Id need);
  Value reshard(OpOperand &use, Value value, size_t source, Id need,
                bool forSeveral);
  void eraseDeadOps();

  func::FuncOp function;
  OpChoices choices;
  ReshardPrices &prices;
  LargeTensorWarnings &warnings;
  ReshardReasons &reasons;
  HeldVersions held;
  OpBuilder builder;
  Needs needs;
  /// The versions of a group of values.
  std::vector<SmallVector<Value, 2>> versions;
};

} // namespace

//===----------------------------------------------------------------------===//
// Values and their versions
//===----------------------------------------------------------------------===//

void Inserter::define(Value value, Id made) {
  held.define(value, made);
  versions.push_back({value});
}

static StringRef pluralOf(sharding::Reduction reduction) {
  switch (reduction) {
  case sharding::Reduction::Sum:
    return "sums";
  case sharding::Reduction::Max:
    return "maxima";
  case sharding::Reduction::Min:
    return "minima";
  }
  llvm_unreachable("all reductions are covered");
}

/// Why data has to move. `forSeveral`: what `use` and others need is made of
/// it.
static std::string causeOf(OpOperand &use, Value source, Id from, Id need,
                           bool forSeveral, ReshardPrices &prices) {
  const sharding::Sharding &held = prices.get(from), &wanted = prices.get(need);
  const Mesh &mesh = prices.getMesh();
  std::string cause;
  if (!held.unreduced.empty() && held.unreduced != wanted.unreduced)
    cause = "partial " + pluralOf(held.unreducedKind).str() + " over " +
            mesh.print(held.unreduced) + " of " + nameOf(source);
  else
    cause = nameOf(source) + " held as " + print(mesh, held);
  return cause + ", needed as " + print(mesh, wanted) +
         (forSeveral ? " for several users, the first " : " by ") +
         nameOfUser(use, source);
}

static bool hasLine(Location loc) {
  return loc
      ->walk([](Location inner) {
        return isa<FileLineColLoc>(inner) ? WalkResult::interrupt()
                                          : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The line of the source that a movement of data serves: of a reduction, what
/// makes the terms; of others, the user, or what makes a result. An op without
/// a line leaves that to the next.
static Location chooseLocation(OpOperand &use, Value source, bool reduces) {
  Location user = use.getOwner()->getLoc(), made = use.get().getLoc();
  SmallVector<Location> candidates = {user, made, source.getLoc()};
  if (reduces)
    candidates = {source.getLoc(), user, made};
  else if (isa<func::ReturnOp>(use.getOwner()))
    candidates = {made, user, source.getLoc()};
  auto found = llvm::find_if(candidates, hasLine);
  return found == candidates.end() ? candidates.front() : *found;
}

/// What a movement of data is for: as chooseLocation, but what is moved to make
/// a gradient is none.
static OriginAttr chooseOrigin(OpOperand &use, Value source, bool reduces) {
  if (reduces)
    return getValueOrigin(source);
  bool isResult = isa<func::ReturnOp>(use.getOwner());
  return withoutGradient(isResult ? getValueOrigin(use.get())
                                  : getOrigin(use.getOwner()));
}

/// The stage and the pass in which two others have what they need: forward, the
/// former stage; on the way back the latter, with what other stages wait for.
static std::pair<int64_t, StagePass> firstPass(OriginAttr a, OriginAttr b) {
  bool isForward = stagePassOf(a) == StagePass::Forward;
  if (isForward != (stagePassOf(b) == StagePass::Forward))
    return {stageOf(isForward ? a : b), StagePass::Forward};
  if (isForward)
    return {std::min(stageOf(a), stageOf(b)), StagePass::Forward};
  bool isLast = stageOf(a) == stageOf(b) &&
                stagePassOf(a) == StagePass::WeightGradient &&
                stagePassOf(b) == StagePass::WeightGradient;
  return {std::max(stageOf(a), stageOf(b)),
          isLast ? StagePass::WeightGradient : StagePass::InputGradient};
}

/// A version that is there already moves to where another op has it in time,
/// and with it what it is made of. Ops are not in the order of passes: what has
/// no padding any more is made just before its first user, in the stage of the
/// value.
static void moveEarlier(Value version, OriginAttr user) {
  auto op = version.getDefiningOp<ReshardOp>();
  OriginAttr own = op ? getOrigin(op) : OriginAttr();
  if (!op || stagePassOf(user) == StagePass::None ||
      stagePassOf(own) == StagePass::None)
    return;
  auto [stage, pass] = firstPass(own, user);
  if (stage == stageOf(own) && pass == stagePassOf(own))
    return;
  setOrigin(op, withStage(own, stage, pass, op.getContext()));
  moveEarlier(op.getOperand(), getOrigin(op));
}

/// What has no elements is not moved, but there.
Value Inserter::withoutElements(OpOperand &use, Id need) {
  builder.setInsertionPoint(use.getOwner());
  RankedTensorType type = typeOf(use.get());
  auto constant =
      arith::ConstantOp::create(builder, use.get().getLoc(), type,
                                cast<TypedAttr>(builder.getZeroAttr(type)));
  setSharding(constant.getResult(), prices.getAttr(need));
  return constant.getResult();
}

/// Makes `need` of the version `source` of the value.
Value Inserter::reshard(OpOperand &use, Value value, size_t source, Id need,
                        bool forSeveral) {
  size_t group = held.groupOf(value);
  Value made = versions[group].front(), from = versions[group][source];
  Id sharding = held.versionsOf(value)[source];
  if (typeOf(made).getNumElements() == 0)
    return withoutElements(use, need);
  ++numReshards;
  warnings.check(use, made, prices.get(sharding), prices.get(need));
  bool reduces =
      !prices.get(sharding).unreduced.empty() && from.getDefiningOp();
  Location loc = chooseLocation(use, from, reduces);
  if (!reduces)
    loc = withoutGradientName(loc);
  builder.setInsertionPoint(use.getOwner());
  auto op = ReshardOp::create(builder, loc, from.getType(), from,
                              prices.getAttr(need));
  std::string cause = causeOf(use, made, sharding, need, forSeveral, prices);
  op->setAttr("cause", builder.getStringAttr(cause));
  auto choice = choices.find(use.getOwner());
  reasons.add(cause, {use, value, made, sharding, need,
                      choice == choices.end() ? nullptr : &choice->second});
  setOrigin(op, chooseOrigin(use, from, reduces));
  setSharding(op.getResult(), prices.getAttr(need));
  return op.getResult();
}

/// Makes the operand a version in the sharding `need`.
void Inserter::provide(OpOperand &use, Id need) {
  Value value = use.get();
  for (Id first : held.firstFor(value, need))
    makeVersion(use, value, first, /*forSeveral=*/true);
  use.set(makeVersion(use, value, need, /*forSeveral=*/false));
}

/// The version `need` of the value, made before the op that uses it if it is
/// not there yet.
Value Inserter::makeVersion(OpOperand &use, Value value, Id need,
                            bool forSeveral) {
  HeldVersions::Provision provision = held.provide(value, need);
  SmallVector<Value, 2> &group = versions[held.groupOf(value)];
  if (provision.wasThere) {
    moveEarlier(group[provision.version], getOrigin(use.getOwner()));
    return group[provision.version];
  }
  Value made;
  if (!provision.narrow) {
    made = reshard(use, value, provision.source, need, forSeveral);
  } else {
    SmallVector<Value, 2> &narrow = versions[held.groupOf(provision.narrow)];
    if (!provision.narrowWasThere)
      narrow.push_back(
          reshard(use, provision.narrow, provision.source, need, forSeveral));
    builder.setInsertionPoint(use.getOwner());
    Operation *conversion = builder.clone(*group.front().getDefiningOp());
    conversion->setOperand(0, narrow[provision.narrowVersion]);
    setSharding(conversion->getResult(0), prices.getAttr(need));
    made = conversion->getResult(0);
  }
  group.push_back(made);
  return made;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void Inserter::visitReturn(func::ReturnOp op) {
  for (OpOperand &use : op->getOpOperands())
    provide(use,
            prices.intern(getResultSharding(function, use.getOperandNumber()),
                          typeOf(use.get()).getRank()));
}

void Inserter::visit(Operation *op) {
  // The result is the operand; users reshard it as they need.
  if (isMarker(op))
    return held.share(op->getResult(0), op->getOperand(0));
  if (auto ret = dyn_cast<func::ReturnOp>(op))
    return visitReturn(ret);
  warnings.expectCast(op);
  const FactorSolution &choice = choices.at(op);
  numOnTerms += choice.onTerms;
  Value narrow = takesMoreBytes(op) ? op->getOperand(0) : Value();
  for (OpOperand &use : op->getOpOperands())
    if (use.getOperandNumber() < choice.operands.size())
      provide(use, choice.operands[use.getOperandNumber()]);
    else // a barrier moves nothing: it waits for what there is
      use.set(versions[held.groupOf(use.get())].front());
  SmallVector<Attribute> shardings;
  for (auto [value, made] : llvm::zip_equal(op->getResults(), choice.results)) {
    if (!isa<arith::ConstantOp>(op) && !passesOn(op, prices.get(made)))
      warnings.checkResult(value,
                           prices.get(prices.intern(getSharding(value),
                                                    typeOf(value).getRank())));
    define(value, made);
    shardings.push_back(prices.getAttr(made));
  }
  if (narrow)
    held.widen(op->getResult(0), narrow);
  for (Value value : op->getResults())
    held.plan(value, needs);
  op->setAttr(WeftDialect::kShardingsAttrName, builder.getArrayAttr(shardings));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void Inserter::eraseDeadOps() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void Inserter::run() {
  Block &block = function.getBody().front();
  needs = findNeeds(function, choices, prices);
  for (BlockArgument argument : block.getArguments()) {
    define(argument,
           prices.intern(getSharding(argument), typeOf(argument).getRank()));
    held.plan(argument, needs);
  }
  for (Operation &op : llvm::make_early_inc_range(block))
    visit(&op);
  eraseDeadOps();
}

namespace {

struct InsertReshards : weft::impl::InsertReshardsBase<InsertReshards> {
  using InsertReshardsBase::InsertReshardsBase;

  void runOnInput() override {
    ModuleOp module = getOperation();
    MeshOp meshOp = findMesh(module);
    if (!meshOp)
      return reportWithoutMesh(module);
    FailureOr<cost::CostModel> model = loadCostModel(module, cluster);
    if (failed(model))
      return signalPassFailure();
    Mesh mesh = meshOfStage(meshOp, model->cluster());
    if (failed(checkDivisibility(module, mesh)))
      return signalPassFailure();
    auto symbol = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
    ReshardPrices prices(symbol, mesh, *model);
    FollowPropagation follow(prices);
    LargeTensorWarnings warnings(mesh, largeTensorBytes);
    ReshardReasons reasons(module, prices);
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      FailureOr<OpChoices> choices = takeChoices(function, prices);
      if (failed(choices))
        return signalPassFailure();
      if (choices->empty())
        choices = follow.run(function);
      Inserter inserter(function, std::move(*choices), prices, warnings,
                        reasons);
      inserter.run();
      reshards += inserter.numReshards;
      deferred += inserter.numOnTerms;
    }
    warnings.report();
    reasons.write();
    planned += prices.numPlanned();
  }

  /// Shardings name a mesh, and the SPMD program has a sharding for each
  /// argument and result.
  void reportWithoutMesh(ModuleOp module) {
    if (module.getOps<func::FuncOp>().empty())
      return;
    module.emitError() << "cannot partition without a mesh; declare one, for "
                          "example weft.mesh @mesh = <[\"data\"=1]>";
    signalPassFailure();
  }
};

} // namespace
