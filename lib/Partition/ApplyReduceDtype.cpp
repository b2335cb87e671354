//===- ApplyReduceDtype.cpp - Sum gradients over devices in f32 -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Partial sums are used by linear ops and by reshards alone. So those of one
// gradient form a region of the graph, which begins where an op makes partial
// sums and ends where a reshard adds them up: the region gets the wider type,
// with conversions at its borders.
//
//===----------------------------------------------------------------------===//

#include "ReduceDtype.h"

#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WindowOps.h"
#include "weft/Partition/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace weft {
#define GEN_PASS_DEF_APPLYREDUCEDTYPE
#include "weft/Partition/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

bool weft::isNarrow(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType()) &&
         type.getElementTypeBitWidth() == 16;
}

bool weft::isNarrowGradient(Value value) {
  return isNarrow(value) && !gradientOf(getValueOrigin(value)).empty();
}

/// Whether devices hold partial sums.
static bool isPartialSum(Value value) {
  ShardingAttr sharding = getSharding(value);
  return sharding && !sharding.getUnreduced().empty() &&
         sharding.getUnreducedKind() == sharding::Reduction::Sum;
}

namespace {

class Widener {
public:
  explicit Widener(func::FuncOp function)
      : function(function), builder(function.getContext()) {}

  void run();

  int64_t numSums = 0;

private:
  void findRegions();
  bool isWidened(Value value) const {
    return widened.contains(value.getAsOpaquePointer());
  }
  RankedTensorType wide(Value value) {
    return typeOf(value).clone(builder.getF32Type());
  }
  void widen(Operation *op);
  void widenOperands(Operation *op);
  void widenAttributes(Operation *op);
  void narrowBehind(OpResult sum);
  void joinSums(arith::AddFOp add);

  func::FuncOp function;
  OpBuilder builder;
  /// What gets the wider type: partial sums, and the sums of reshards.
  llvm::SmallPtrSet<const void *, 32> widened;
  SmallVector<Operation *> ops;
};

} // namespace

/// Whether the op hands partial sums on, or adds them up.
static bool isOfRegion(Operation *op) {
  return op->getNumResults() == 1 && isNarrow(op->getResult(0)) &&
         (isa<ReshardOp>(op) || isPartialSum(op->getResult(0)));
}

/// Whether all that use a gradient widen it and add it up over micro-batches.
static bool isSummedWide(Value gradient) {
  return !gradient.use_empty() &&
         llvm::all_of(gradient.getUsers(), [](Operation *user) {
           auto widened = dyn_cast<arith::ExtFOp>(user);
           return widened && getElementTypeOrSelf(widened.getType()).isF32() &&
                  llvm::all_of(widened->getUsers(),
                               llvm::IsaPred<MicrobatchSumOp>);
         });
}

/// Whether the op makes wide sums of narrow operands, if its result is wide.
static bool isProduct(Operation *op) {
  return isa<DotGeneralOp, ConvolutionOp>(op);
}

/// The regions that make a gradient and that no result leaves as partial sums.
void Widener::findRegions() {
  llvm::EquivalenceClasses<const void *> regions;
  for (Operation &op : function.getBody().front())
    for (Value result : op.getResults()) {
      // Results of attention have the type of its operands.
      if (!isNarrow(result) || !isPartialSum(result) ||
          isa<AttentionGradOp>(op))
        continue;
      const void *mine = result.getAsOpaquePointer();
      regions.insert(mine);
      for (Operation *user : result.getUsers())
        if (isOfRegion(user))
          regions.unionSets(mine, user->getResult(0).getAsOpaquePointer());
    }
  llvm::SmallPtrSet<const void *, 16> chosen, returned;
  for (const auto *member : regions) {
    Value value = Value::getFromOpaquePointer(member->getData());
    const void *leader = regions.getLeaderValue(member->getData());
    if (isNarrowGradient(value))
      chosen.insert(leader);
    if (isPartialSum(value) &&
        llvm::any_of(value.getUsers(),
                     [](Operation *op) { return isa<func::ReturnOp>(op); }))
      returned.insert(leader);
  }
  // A replica that is alone adds up its micro-batches in the same way.
  for (Operation &product : function.getBody().front())
    if (Value value =
            isProduct(&product) ? Value(product.getResult(0)) : Value();
        value && isNarrowGradient(value) && !isPartialSum(value) &&
        isSummedWide(value))
      widened.insert(value.getAsOpaquePointer());
  for (const auto *member : regions) {
    const void *leader = regions.getLeaderValue(member->getData());
    if (chosen.contains(leader) && !returned.contains(leader))
      widened.insert(member->getData());
  }
}

/// Values that come into the region are converted.
void Widener::widenOperands(Operation *op) {
  // A product has a wide result of narrow operands, unless one is wide itself.
  if (isProduct(op) &&
      llvm::none_of(op->getOperands(), [&](Value v) { return isWidened(v); }))
    return;
  for (OpOperand &use : op->getOpOperands()) {
    Value value = use.get();
    bool isWaitedFor = isa<BarrierOp>(op) && use.getOperandNumber() != 0;
    if (!isNarrow(value) || isWidened(value) || isWaitedFor)
      continue;
    builder.setInsertionPoint(op);
    Value converted =
        arith::ExtFOp::create(builder, value.getLoc(), wide(value), value);
    setOrigin(converted.getDefiningOp(), getValueOrigin(value));
    if (ShardingAttr sharding = getSharding(value))
      setSharding(converted, sharding);
    use.set(converted);
  }
}

/// The elements that ops put in have the type of the others.
void Widener::widenAttributes(Operation *op) {
  for (NamedAttribute attr : op->getAttrs()) {
    auto number = dyn_cast<FloatAttr>(attr.getValue());
    if (number && number.getType().getIntOrFloatBitWidth() == 16)
      op->setAttr(attr.getName(),
                  builder.getF32FloatAttr(number.getValueAsDouble()));
  }
}

/// Rounds the sum for those who use it, unless they widen it themselves.
void Widener::narrowBehind(OpResult sum) {
  ++numSums;
  RankedTensorType narrow = typeOf(sum);
  sum.setType(wide(sum));
  if (llvm::all_of(sum.getUsers(), llvm::IsaPred<arith::ExtFOp>))
    return;
  builder.setInsertionPointAfter(sum.getOwner());
  Value rounded = arith::TruncFOp::create(builder, sum.getLoc(), narrow, sum);
  setOrigin(rounded.getDefiningOp(), getValueOrigin(sum));
  setSharding(rounded, getSharding(sum));
  sum.replaceUsesWithIf(rounded, [](OpOperand &use) {
    return !isa<arith::ExtFOp, arith::TruncFOp>(use.getOwner());
  });
}

void Widener::widen(Operation *op) {
  // What made the partial sums wider comes too late.
  if (auto conversion = dyn_cast<arith::ExtFOp>(op);
      conversion && isWidened(conversion.getIn())) {
    if (typeOf(conversion.getOut()).getElementType().isF32()) {
      conversion.getOut().replaceAllUsesWith(conversion.getIn());
      op->erase();
    }
    return;
  }
  if (llvm::none_of(op->getResults(), [&](Value v) { return isWidened(v); }))
    return;
  widenOperands(op);
  widenAttributes(op);
  for (OpResult result : op->getResults()) {
    if (!isWidened(result))
      continue;
    if (isPartialSum(result) || isProduct(op))
      result.setType(wide(result));
    else
      narrowBehind(result);
  }
}

/// Of what is added up once both are sums over devices, partial sums are added
/// up instead, and sent once: the gradients of two uses of a parameter, of
/// which one was narrow.
void Widener::joinSums(arith::AddFOp add) {
  auto lhs = add.getLhs().getDefiningOp<ReshardOp>(),
       rhs = add.getRhs().getDefiningOp<ReshardOp>();
  if (!lhs || !rhs || !lhs->hasOneUse() || !rhs->hasOneUse())
    return;
  const bool isLhsWide = isWidened(lhs.getResult()),
             isRhsWide = isWidened(rhs.getResult());
  Value partialSums[] = {lhs.getOperand(), rhs.getOperand()};
  if ((!isLhsWide && !isRhsWide) || !isPartialSum(partialSums[0]) ||
      getSharding(partialSums[0]) != getSharding(partialSums[1]) ||
      getSharding(lhs.getResult()) != getSharding(rhs.getResult()))
    return;
  numSums -= isLhsWide && isRhsWide;
  ReshardOp sum = lhs->isBeforeInBlock(rhs) ? rhs : lhs,
            other = sum == lhs ? rhs : lhs;
  add.getResult().replaceAllUsesWith(sum.getResult());
  add->setOperands(partialSums);
  setSharding(add.getResult(), getSharding(partialSums[0]));
  sum->moveAfter(add);
  sum->setOperand(0, add.getResult());
  other->erase();
}

void Widener::run() {
  findRegions();
  if (widened.empty())
    return;
  Block &block = function.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(block))
    widen(&op);
  for (auto add : llvm::make_early_inc_range(block.getOps<arith::AddFOp>()))
    joinSums(add);
}

/// The names of the parameters whose gradients the program marks.
static llvm::StringSet<> findGradients(ModuleOp module) {
  llvm::StringSet<> parameters;
  module->walk([&](Operation *op) {
    if (StringRef name = gradientOf(getOrigin(op)); !name.empty())
      parameters.insert(name);
  });
  return parameters;
}

/// Whether a value is computed of a gradient, element by element.
static bool isOfGradient(Value value) {
  llvm::SetVector<Value> visited;
  visited.insert(value);
  for (size_t i = 0; i < visited.size(); ++i) {
    Operation *op = visited[i].getDefiningOp();
    if (!op)
      continue;
    if (!gradientOf(getOrigin(op)).empty())
      return true;
    for (Value operand : op->getOperands())
      if (typeOf(operand).getShape() == typeOf(value).getShape())
        visited.insert(operand);
  }
  return false;
}

/// What a result makes of an argument of the name; null if none does.
static Value findNextValue(func::FuncOp function, StringAttr name) {
  for (OpOperand &result : function.front().getTerminator()->getOpOperands())
    if (function.getResultAttr(result.getOperandNumber(),
                               WeftDialect::kNameAttrName) == name)
      return result.get();
  return {};
}

static void warnOfUnknownGradients(func::FuncOp function,
                                   const llvm::StringSet<> &known) {
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto name =
        function.getArgAttrOfType<StringAttr>(i, WeftDialect::kNameAttrName);
    if (!name || !isNarrow(argument) || known.contains(name))
      continue;
    StringRef what = "parameter";
    if (!function.getArgAttr(i, WeftDialect::kParameterAttrName)) {
      what = "state";
      Value next = findNextValue(function, name);
      bool isCounter = typeOf(argument).getRank() == 0;
      if (!next || next == argument || isCounter || isOfGradient(next))
        continue;
    }
    emitWarning(argument.getLoc())
        << "no value is marked as the gradient of the " << what << " " << name
        << ": what it is updated with is summed in "
        << typeOf(argument).getElementType();
  }
}

namespace {
struct ApplyReduceDtype : weft::impl::ApplyReduceDtypeBase<ApplyReduceDtype> {
  void runOnInput() override {
    llvm::StringSet<> gradients = findGradients(getOperation());
    if (gradients.empty()) {
      getOperation()->emitError(
          "cannot sum gradients in f32: no value of this program is marked as "
          "a gradient; differentiate with weft.value_and_grad, or donate the "
          "parameters that a JAX program updates element by element, or leave "
          "out the option");
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      warnOfUnknownGradients(function, gradients);
      Widener widener(function);
      widener.run();
      sums += widener.numSums;
    }
  }
};
} // namespace
