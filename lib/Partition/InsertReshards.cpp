//===- InsertReshards.cpp - Make every op computable on parts -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pass over each function in program order. For every value it keeps the
// versions there are: the one its op made, and those resharded for users seen
// so far. The choice for an op is in FactorChoice; here it is asked for and
// carried out.
//
//===----------------------------------------------------------------------===//

#include "DivisibilityCheck.h"
#include "FactorChoice.h"
#include "LargeTensors.h"
#include "ValueName.h"

#include "weft/IR/Origin.h"
#include "weft/IR/SourceLocation.h"
#include "weft/IR/TensorTypes.h"
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

/// A value in all shardings in which it is there. A constraint's result shares
/// it with the operand.
struct Versions {
  struct Version {
    Id sharding;
    Value value;
  };
  SmallVector<Version, 2> all;
  /// Uses in the input, those of constraints counted through and barriers
  /// that wait for the value left out.
  int64_t numUses = 0;
};

class Inserter {
public:
  Inserter(func::FuncOp function, ReshardPrices &prices,
           std::map<std::vector<int64_t>, FactorSolution> &solutions,
           LargeTensorWarnings &warnings)
      : function(function), prices(prices), solutions(solutions),
        warnings(warnings), builder(function.getContext()) {}

  LogicalResult run();

  int64_t numReshards = 0;
  int64_t numOnTerms = 0;

private:
  void define(Value value, Id made);
  void readDeclared(Value value);
  Id declaredOf(Value value) const { return declared.at(value); }
  LogicalResult visit(Operation *op);
  void visitConstraint(Operation *op);
  void visitBarrier(BarrierOp op);
  void visitIdentity(Operation *op);
  void visitConstant(arith::ConstantOp op);
  void visitReturn(func::ReturnOp op);
  FactorProblem problemOf(ShardingRuleOpInterface op);
  const FactorSolution &solve(const FactorProblem &problem);
  void provide(OpOperand &use, Id need);
  size_t findNearest(const Versions &group, Id need, RankedTensorType type,
                     bool mayReduce) const;
  Value madeAs(Value value) const;
  const Versions::Version &versionToKeep(Value value) const;
  RankedTensorType typeToMove(Value value) const;
  Value reshardNarrow(OpOperand &use, double wideSeconds, Id need);
  Value reshard(OpOperand &use, const Versions &group, size_t nearest, Id need);
  void eraseDeadOps();

  func::FuncOp function;
  ReshardPrices &prices;
  std::map<std::vector<int64_t>, FactorSolution> &solutions;
  LargeTensorWarnings &warnings;
  OpBuilder builder;
  /// The shardings of the input: an op is given those that it is made in, which
  /// need not be what its users were told.
  DenseMap<Value, Id> declared;
  /// Indices into `versions`.
  DenseMap<Value, size_t> versionsOf;
  std::vector<Versions> versions;
  /// What a value was converted from to a wider type, as the input has it.
  DenseMap<Value, Value> narrowOf;
};

} // namespace

static bool isMarker(Operation *op) { return isa<ConstraintOp, ReshardOp>(op); }

/// Whether a barrier waits for the value, in whatever sharding it is.
static bool isWaitedFor(OpOperand &use) {
  return isa<BarrierOp>(use.getOwner()) && use.getOperandNumber() != 0;
}

/// Uses that need the value.
static int64_t countUses(Value value) {
  int64_t uses = 0;
  for (OpOperand &use : value.getUses())
    if (isMarker(use.getOwner()))
      uses += countUses(use.getOwner()->getResult(0));
    else
      uses += !isWaitedFor(use);
  return uses;
}

//===----------------------------------------------------------------------===//
// Values and their versions
//===----------------------------------------------------------------------===//

void Inserter::define(Value value, Id made) {
  versionsOf[value] = versions.size();
  versions.push_back({{{made, value}}, countUses(value)});
}

void Inserter::readDeclared(Value value) {
  declared[value] = prices.intern(getSharding(value), typeOf(value).getRank());
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

/// Why data has to move.
static std::string causeOf(OpOperand &use, Value source, Id from, Id need,
                           ReshardPrices &prices) {
  const sharding::Sharding &held = prices.get(from), &wanted = prices.get(need);
  const Mesh &mesh = prices.getMesh();
  std::string cause;
  if (!held.unreduced.empty() && held.unreduced != wanted.unreduced)
    cause = "partial " + pluralOf(held.unreducedKind).str() + " over " +
            mesh.print(held.unreduced) + " of " + nameOf(source);
  else
    cause = nameOf(source) + " held as " + print(mesh, held);
  return cause + ", needed as " + print(mesh, wanted) + " by " + nameOf(use);
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
  SmallVector<Location> places = {user, made, source.getLoc()};
  if (reduces)
    places = {source.getLoc(), user, made};
  else if (isa<func::ReturnOp>(use.getOwner()))
    places = {made, user, source.getLoc()};
  auto found = llvm::find_if(places, hasLine);
  return found == places.end() ? places.front() : *found;
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

Value Inserter::reshard(OpOperand &use, const Versions &group, size_t nearest,
                        Id need) {
  const Versions::Version &source = group.all[nearest];
  ++numReshards;
  warnings.check(use, group.all.front().value, prices.get(source.sharding),
                 prices.get(need));
  bool reduces = !prices.get(source.sharding).unreduced.empty() &&
                 source.value.getDefiningOp();
  Location loc = chooseLocation(use, source.value, reduces);
  if (!reduces)
    loc = withoutGradientName(loc);
  builder.setInsertionPoint(use.getOwner());
  auto op = ReshardOp::create(builder, loc, source.value.getType(),
                              source.value, prices.getAttr(need));
  op->setAttr("cause",
              builder.getStringAttr(causeOf(use, group.all.front().value,
                                            source.sharding, need, prices)));
  setOrigin(op, chooseOrigin(use, source.value, reduces));
  setSharding(op.getResult(), prices.getAttr(need));
  return op.getResult();
}

/// The version of which `need` is made at the least price, or as many as there
/// are if it cannot be made.
size_t Inserter::findNearest(const Versions &group, Id need,
                             RankedTensorType type, bool mayReduce) const {
  size_t nearest = group.all.size();
  double least = std::numeric_limits<double>::infinity();
  for (auto [index, version] : llvm::enumerate(group.all)) {
    if (!mayReduce && prices.reduces(version.sharding, need))
      continue;
    double price = prices.seconds(version.sharding, need, type);
    if (price < least) {
      least = price;
      nearest = index;
    }
  }
  return nearest;
}

/// Makes the operand a version in the sharding `need`.
void Inserter::provide(OpOperand &use, Id need) {
  Value value = use.get();
  size_t number = versionsOf.at(value);
  for (const Versions::Version &version : versions[number].all)
    if (version.sharding == need)
      return use.set(version.value);
  RankedTensorType type = typeOf(value);
  size_t nearest =
      findNearest(versions[number], need, type, /*mayReduce=*/true);
  if (nearest == versions[number].all.size())
    nearest = 0; // no way; said where the reshard is lowered
  Id from = versions[number].all[nearest].sharding;
  Value made;
  if (!prices.reduces(from, need))
    made = reshardNarrow(use, prices.seconds(from, need, type), need);
  if (!made)
    made = reshard(use, versions[number], nearest, need);
  versions[number].all.push_back({need, made});
  use.set(made);
}

//===----------------------------------------------------------------------===//
// Conversions to wider types
//===----------------------------------------------------------------------===//

/// A conversion after which an element takes more bytes and holds no more.
static bool isWidening(Operation *op) {
  return isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp, arith::SIToFPOp,
             arith::UIToFPOp>(op) &&
         elementBytes(typeOf(op->getOperand(0))) <
             elementBytes(typeOf(op->getResult(0)));
}

/// The value as its op made it; constraints on it do not count.
Value Inserter::madeAs(Value value) const {
  return versions[versionsOf.at(value)].all.front().value;
}

RankedTensorType Inserter::typeToMove(Value value) const {
  auto narrow = narrowOf.find(madeAs(value));
  return narrow == narrowOf.end() ? typeOf(value) : typeOf(narrow->second);
}

/// Moves what the operand was converted from, and converts it there, if that
/// takes less than `wideSeconds`. Null if not. Terms are added up in the wide
/// type: they stay as they are.
Value Inserter::reshardNarrow(OpOperand &use, double wideSeconds, Id need) {
  Value wide = madeAs(use.get());
  auto narrow = narrowOf.find(wide);
  if (narrow == narrowOf.end())
    return {};
  RankedTensorType type = typeOf(narrow->second);
  Versions &group = versions[versionsOf.at(narrow->second)];
  size_t nearest = findNearest(group, need, type, /*mayReduce=*/false);
  if (nearest == group.all.size() ||
      prices.seconds(group.all[nearest].sharding, need, type) >= wideSeconds)
    return {};
  Value moved = group.all[nearest].value;
  if (group.all[nearest].sharding != need) {
    moved = reshard(use, group, nearest, need);
    group.all.push_back({need, moved});
  }
  builder.setInsertionPoint(use.getOwner());
  Operation *conversion = builder.clone(*wide.getDefiningOp());
  conversion->setOperand(0, moved);
  setSharding(conversion->getResult(0), prices.getAttr(need));
  return conversion->getResult(0);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Slices that use the value, if the op is one.
static int64_t countSlices(Operation *op, Value value) {
  if (!isa<SliceOp>(op))
    return 1;
  return llvm::count_if(value.getUsers(),
                        [](Operation *user) { return isa<SliceOp>(user); });
}

FactorProblem Inserter::problemOf(ShardingRuleOpInterface op) {
  FactorProblem problem;
  problem.rule = op.getShardingRule();
  problem.linearity = op.getLinearity();
  for (Value value : op->getOperands()) {
    const Versions &group = versions[versionsOf.at(value)];
    FactorProblem::Operand &operand = problem.operands.emplace_back();
    operand.type = typeOf(value);
    operand.moved = typeToMove(value);
    operand.declared = declaredOf(value);
    operand.isOnlyUse = group.numUses == 1;
    operand.sharers = countSlices(op, value);
    for (const Versions::Version &version : group.all)
      operand.versions.push_back(version.sharding);
  }
  for (Value value : op->getResults())
    problem.results.push_back({typeOf(value), declaredOf(value)});
  return problem;
}

const FactorSolution &Inserter::solve(const FactorProblem &problem) {
  auto [entry, isNew] = solutions.try_emplace(problem.key());
  if (isNew)
    entry->second = chooseFactors(problem, prices);
  return entry->second;
}

/// The result is the operand; users reshard it as they need.
void Inserter::visitConstraint(Operation *op) {
  versionsOf[op->getResult(0)] = versionsOf.at(op->getOperand(0));
}

/// The value as its op made it; but where this are terms whose sum somebody
/// else has made, the sum, which need not be sent a second time.
const Versions::Version &Inserter::versionToKeep(Value value) const {
  const Versions &group = versions[versionsOf.at(value)];
  for (const Versions::Version &version : group.all)
    if (prices.get(version.sharding).unreduced.empty())
      return version;
  return group.all.front();
}

/// Moves nothing: every operand is taken as it is, partial results too.
void Inserter::visitBarrier(BarrierOp op) {
  for (OpOperand &use : llvm::drop_begin(op->getOpOperands()))
    use.set(madeAs(use.get()));
  visitIdentity(op);
}

/// The same for the first operand and the result of an op that computes
/// nothing on a device. So a parameter is moved once for each micro-batch, and
/// partial sums are reduced after the last one.
void Inserter::visitIdentity(Operation *op) {
  Versions::Version kept = versionToKeep(op->getOperand(0));
  op->setOperand(0, kept.value);
  define(op->getResult(0), kept.sharding);
  setSharding(op->getResult(0), prices.getAttr(kept.sharding));
}

/// Whether sums of what a micro-batch gives can be taken of its partial
/// results: those of a maximum are not to be added.
static bool passesOn(Operation *op, const sharding::Sharding &made) {
  return isa<MicrobatchUseOp>(op) ||
         (isa<MicrobatchSumOp>(op) &&
          (made.unreduced.empty() ||
           made.unreducedKind == sharding::Reduction::Sum));
}

/// A constant of different elements is there whole; its users take slices.
void Inserter::visitConstant(arith::ConstantOp op) {
  Value value = op.getResult();
  bool isUniform = isa<SplatElementsAttr>(op.getValue());
  Id made =
      isUniform
          ? declaredOf(value)
          : prices.intern(sharding::Sharding::closed(typeOf(value).getRank()));
  define(value, made);
  setSharding(value, prices.getAttr(made));
}

void Inserter::visitReturn(func::ReturnOp op) {
  for (OpOperand &use : op->getOpOperands())
    provide(use,
            prices.intern(getResultSharding(function, use.getOperandNumber()),
                          typeOf(use.get()).getRank()));
}

LogicalResult Inserter::visit(Operation *op) {
  if (isMarker(op)) {
    visitConstraint(op);
    return success();
  }
  if (auto barrier = dyn_cast<BarrierOp>(op)) {
    visitBarrier(barrier);
    return success();
  }
  if (op->getNumOperands() != 0 &&
      passesOn(op, prices.get(versionToKeep(op->getOperand(0)).sharding))) {
    visitIdentity(op);
    return success();
  }
  if (auto ret = dyn_cast<func::ReturnOp>(op)) {
    visitReturn(ret);
    return success();
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    visitConstant(constant);
    return success();
  }
  auto ruled = cast<ShardingRuleOpInterface>(op);
  const FactorSolution &chosen = solve(problemOf(ruled));
  numOnTerms += chosen.onTerms;
  if (isWidening(op))
    narrowOf[op->getResult(0)] = op->getOperand(0);
  for (OpOperand &use : op->getOpOperands())
    provide(use, chosen.operands[use.getOperandNumber()]);
  SmallVector<Attribute> shardings;
  for (auto [value, made] : llvm::zip_equal(op->getResults(), chosen.results)) {
    warnings.checkResult(value, prices.get(declaredOf(value)));
    define(value, made);
    shardings.push_back(prices.getAttr(made));
  }
  op->setAttr(WeftDialect::kShardingsAttrName, builder.getArrayAttr(shardings));
  return success();
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

LogicalResult Inserter::run() {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    readDeclared(argument);
    define(argument, declaredOf(argument));
  }
  for (Operation &op : block)
    for (Value result : op.getResults())
      readDeclared(result);
  bool failedAny = false;
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(visit(&op))) {
      failedAny = true;
      for (Value result : op.getResults())
        define(result, declaredOf(result));
    }
  if (failedAny)
    return failure();
  eraseDeadOps();
  return success();
}

namespace {

struct InsertReshards : weft::impl::InsertReshardsBase<InsertReshards> {
  using InsertReshardsBase::InsertReshardsBase;

  void runOnInput() override {
    ModuleOp module = getOperation();
    MeshOp meshOp = findMesh(module);
    if (!meshOp)
      return reportWithoutMesh(module);
    Mesh mesh = meshOp.getMesh().toMesh();
    if (failed(checkDivisibility(module, mesh)))
      return signalPassFailure();
    auto symbol = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
    ReshardPrices prices(symbol, mesh, cost::CollectiveCost());
    std::map<std::vector<int64_t>, FactorSolution> solutions;
    LargeTensorWarnings warnings(mesh, largeTensorBytes);
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Inserter inserter(function, prices, solutions, warnings);
      if (failed(inserter.run()))
        signalPassFailure();
      reshards += inserter.numReshards;
      deferred += inserter.numOnTerms;
    }
    warnings.report();
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
