//===- Autodiff.cpp - Gradients in a graph --------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions are visited callees first: a gradient within a function that is
// differentiated is then made of ops like any other.
//
//===----------------------------------------------------------------------===//

#include "Tape.h"

#include "weft/Autodiff/Passes.h"
#include "weft/IR/FormRules.h"
#include "weft/IR/Origin.h"
#include "weft/IR/SourceLocation.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/VjpBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace weft {
#define GEN_PASS_DEF_AUTODIFF
#include "weft/Autodiff/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// One gradient
//===----------------------------------------------------------------------===//

/// Finds the ops of `activity` that have no derivative, those that its
/// checkpoints call among them.
static void findOpsWithoutVjp(const Activity &activity,
                              SmallVectorImpl<Operation *> &missing) {
  for (Operation *op : activity.getOps()) {
    auto checkpoint = dyn_cast<CheckpointOp>(op);
    if (!checkpoint) {
      if (!isa<VjpOpInterface>(op))
        missing.push_back(op);
      continue;
    }
    llvm::SmallBitVector arguments(op->getNumOperands());
    for (OpOperand &use : op->getOpOperands())
      arguments[use.getOperandNumber()] = activity.isActive(use);
    llvm::SmallBitVector results(op->getNumResults());
    for (OpResult result : op->getResults())
      results[result.getResultNumber()] = activity.isActive(result);
    findOpsWithoutVjp(Activity(calleeOf(checkpoint), arguments, results),
                      missing);
  }
}

/// One error for all ops that cannot be differentiated.
static LogicalResult checkDifferentiable(ValueAndGradOp op,
                                         const Activity &activity) {
  SmallVector<Operation *> missing;
  findOpsWithoutVjp(activity, missing);
  if (missing.empty())
    return success();
  auto error = op.emitOpError() << "cannot differentiate " << op.getCalleeAttr()
                                << ": no derivative is known of ";
  llvm::interleaveComma(missing, error, [&](Operation *each) {
    error << each->getName();
    if (std::string text = locationText(each->getLoc()); !text.empty())
      error << " (" << text << ")";
  });
  return error << "; implement VjpOpInterface, or keep the derivative from "
                  "these ops with weft.stop_gradient";
}

/// What a value is before it is marked, constrained or used for each
/// micro-batch.
static Value findUnmarked(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<BarrierOp, CheckpointNameOp, ConstraintOp, MicrobatchUseOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// What users call the argument; empty if they gave it no name.
static std::string nameOfArgument(func::FuncOp callee, unsigned index,
                                  Value operand) {
  StringRef attr = WeftDialect::kNameAttrName;
  if (auto name = callee.getArgAttrOfType<StringAttr>(index, attr))
    return name.str();
  auto argument = dyn_cast<BlockArgument>(findUnmarked(operand));
  if (!argument)
    return {};
  auto caller = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto name =
      caller.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attr);
  return name ? name.str() : std::string();
}

/// Marks the value as the gradient of an argument, for tables by its name.
static void markGradient(Operation *op, StringAttr argument) {
  setOrigin(op, withGradientOf(getOrigin(op), argument));
  op->setLoc(named(op->getLoc(), (kGradientOf + argument.getValue()).str()));
}

/// Marks the op that makes the gradient, and the ops before that only move or
/// convert it, or add up those of several uses of the argument.
static void markGradientOf(Value gradient, StringRef argument) {
  if (argument.empty())
    return;
  auto name = StringAttr::get(gradient.getContext(), argument);
  SmallVector<Value> pending = {gradient};
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op || !isBackward(getOrigin(op)) || !gradientOf(getOrigin(op)).empty())
      continue;
    markGradient(op, name);
    if (op->getNumOperands() != 1 && !isa<arith::AddFOp>(op))
      continue;
    for (Value operand : op->getOperands())
      if (operand.hasOneUse())
        pending.push_back(operand);
  }
}

/// Marks the arguments of the caller that the loss is differentiated by. All at
/// once: setting the attributes of one copies those of all.
static void markParameters(ValueAndGradOp op) {
  auto caller = op->getParentOfType<func::FuncOp>();
  SmallVector<DictionaryAttr> attributes;
  caller.getAllArgAttrs(attributes);
  for (int64_t index : op.getWrt())
    if (auto argument =
            dyn_cast<BlockArgument>(findUnmarked(op.getOperands()[index]))) {
      NamedAttrList marked(attributes[argument.getArgNumber()]);
      marked.set(WeftDialect::kParameterAttrName,
                 UnitAttr::get(op.getContext()));
      attributes[argument.getArgNumber()] =
          marked.getDictionary(op.getContext());
    }
  caller.setAllArgAttrs(attributes);
}

/// Whether a name is that of an argument of an entry, which a loss is
/// differentiated by.
static bool isOfParameter(StringRef name, Value operand) {
  auto argument = dyn_cast<BlockArgument>(findUnmarked(operand));
  if (!argument)
    return false;
  auto caller = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return caller.isPublic() &&
         weft::getArgumentName(caller, argument.getArgNumber()) == name;
}

/// Notes on the module what is differentiated under other names.
static void noteDifferentiated(ModuleOp module, ArrayRef<Attribute> names) {
  llvm::SetVector<Attribute> all;
  if (auto known = module->getAttrOfType<ArrayAttr>(kDifferentiatedAttrName))
    all.insert_range(known);
  all.insert_range(names);
  if (!all.empty())
    module->setAttr(kDifferentiatedAttrName,
                    ArrayAttr::get(module.getContext(), all.getArrayRef()));
}

static LogicalResult resolve(ValueAndGradOp op, func::FuncOp callee) {
  llvm::SmallBitVector arguments(callee.getNumArguments());
  for (int64_t index : op.getWrt())
    arguments.set(index);
  llvm::SmallBitVector results(callee.getNumResults());
  results.set(0);
  Activity activity(callee, arguments, results);
  if (failed(checkDifferentiable(op, activity)))
    return failure();

  OpBuilder builder(op);
  Tape tape(callee, op.getOperands(), builder, op.getLoc());
  SmallVector<Value> values = tape.getResults();
  VjpBuilder constants(builder, op.getLoc(), {}, arguments);
  SmallVector<Value> cotangents(values.size());
  cotangents[0] = constants.constant(1, values[0]);
  SmallVector<Value> gradients =
      tape.pullBack(activity, cotangents, {}, builder);
  markParameters(op);
  SmallVector<Attribute> others;
  for (int64_t index : op.getWrt()) {
    Value operand = op.getOperands()[index], gradient = gradients[index];
    std::string name = nameOfArgument(callee, index, operand);
    if (!name.empty() && !isOfParameter(name, operand))
      others.push_back(builder.getStringAttr(name));
    if (gradient)
      markGradientOf(gradient, name);
    else
      gradient = constants.constant(0, operand);
    values.push_back(gradient);
  }
  noteDifferentiated(op->getParentOfType<ModuleOp>(), others);
  op.replaceAllUsesWith(values);
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// What becomes of gradients
//===----------------------------------------------------------------------===//

/// Whether a factor or divisor is the same number for all elements.
static bool isScalar(Value value) {
  if (auto constraint = value.getDefiningOp<ConstraintOp>())
    return isScalar(constraint.getOperand());
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return broadcast.getOperand().getType().getNumElements() == 1;
  ElementsAttr constant;
  return matchPattern(value, m_Constant(&constant)) && constant.isSplat();
}

/// The operand that the op moves, converts or scales; null if it does more.
static Value findSource(Operation *op) {
  if (isa<arith::ExtFOp, arith::TruncFOp, arith::NegFOp, ConstraintOp,
          ReshapeOp, TransposeOp, MicrobatchSumOp>(op))
    return op->getOperand(0);
  if (auto product = dyn_cast<arith::MulFOp>(op);
      product && isScalar(product.getLhs()))
    return product.getRhs();
  if (isa<arith::MulFOp, arith::DivFOp>(op) && isScalar(op->getOperand(1)))
    return op->getOperand(0);
  return {};
}

/// The parameter that the op makes a gradient of from another one: the same
/// gradient moved, converted or scaled, the sum of those of several batches, or
/// a choice between two of its kind, as clipping makes. Empty if it is none.
static StringRef derivedGradient(Operation *op) {
  if (Value source = findSource(op))
    return gradientOf(getValueOrigin(source));
  if (!isa<arith::AddFOp, arith::SelectOp>(op))
    return {};
  ValueRange operands = op->getOperands().take_back(2);
  StringRef name = gradientOf(getValueOrigin(operands[0]));
  return name == gradientOf(getValueOrigin(operands[1])) ? name : StringRef();
}

static void markDerivedGradients(func::FuncOp function) {
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (op.getNumResults() != 1 || !gradientOf(getOrigin(&op)).empty())
      continue;
    if (StringRef name = derivedGradient(&op); !name.empty())
      markGradient(&op, StringAttr::get(op.getContext(), name));
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static void eraseDeadOps(func::FuncOp function) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

namespace {

class Resolver {
public:
  /// Resolves the gradients that a function takes; whether all could be.
  bool visit(func::FuncOp function);

  int64_t numGradients = 0;

private:
  enum State { Unseen, Open, Done, Broken };

  LogicalResult visitCall(Operation *op, FlatSymbolRefAttr name);

  llvm::DenseMap<Operation *, State> states;
  SymbolTableCollection symbols;
};

} // namespace

bool Resolver::visit(func::FuncOp function) {
  if (State state = states.lookup(function); state == Done || state == Broken)
    return state == Done;
  states[function] = Open;
  SmallVector<std::pair<Operation *, FlatSymbolRefAttr>> calls;
  function.walk([&](Operation *op) {
    if (auto gradient = dyn_cast<ValueAndGradOp>(op))
      calls.push_back({op, gradient.getCalleeAttr()});
    if (auto checkpoint = dyn_cast<CheckpointOp>(op))
      calls.push_back({op, checkpoint.getCalleeAttr()});
  });
  bool legal = true;
  for (auto [op, name] : calls)
    legal &= succeeded(visitCall(op, name));
  if (legal && !calls.empty())
    eraseDeadOps(function);
  states[function] = legal ? Done : Broken;
  return legal;
}

LogicalResult Resolver::visitCall(Operation *op, FlatSymbolRefAttr name) {
  auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(op, name);
  if (!callee.getBody().hasOneBlock())
    return op->emitOpError() << "cannot call " << name
                             << ": it has control flow; a program is one block";
  if (states.lookup(callee) == Open)
    return op->emitOpError() << "cannot call " << name << ": it calls itself";
  // What is wrong with the function was reported there.
  if (!visit(callee))
    return failure();
  auto gradient = dyn_cast<ValueAndGradOp>(op);
  if (!gradient)
    return success();
  ++numGradients;
  return resolve(gradient, callee);
}

/// What is left of them stands where nothing is differentiated.
static void inlineCheckpoints(ModuleOp module) {
  SmallVector<CheckpointOp> ops;
  module.walk([&](CheckpointOp op) { ops.push_back(op); });
  for (CheckpointOp op : ops) {
    OpBuilder builder(op);
    Tape tape(calleeOf(op), op.getOperands(), builder, op.getLoc());
    op.replaceAllUsesWith(tape.getResults());
    op.erase();
  }
}

static void eraseMarkers(ModuleOp module) {
  module.walk([](Operation *op) {
    if (!isa<CheckpointNameOp, StopGradientOp>(op))
      return;
    op->replaceAllUsesWith(op->getOperands());
    op->erase();
  });
}

namespace {
struct Autodiff : weft::impl::AutodiffBase<Autodiff> {
  void runOnInput() override {
    Resolver resolver;
    bool legal = true;
    for (auto function : getOperation().getOps<func::FuncOp>())
      legal &= resolver.visit(function);
    numGradients += resolver.numGradients;
    if (!legal)
      return signalPassFailure();
    // Only now: a function that is differentiated has to keep them.
    inlineCheckpoints(getOperation());
    eraseMarkers(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && function.getBody().hasOneBlock())
        markDerivedGradients(function);
  }
};
} // namespace
