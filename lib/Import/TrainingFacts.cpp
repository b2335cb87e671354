//===- TrainingFacts.cpp - Parameters and gradients of a program ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingFacts.h"

#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace weft;

namespace {

/// An argument that a result replaces, and what its next value is computed of,
/// element by element.
struct State {
  explicit State(BlockArgument argument) : argument(argument) {}

  BlockArgument argument;
  bool isReadByUpdate = false;
  SmallVector<Operation *> operands;
};

class TrainingFacts {
public:
  explicit TrainingFacts(func::FuncOp function)
      : function(function), body(function.getBody().front()) {}

  void mark();

private:
  void findStates();
  void findOperands(State &state, Value next);
  void findDependences();
  bool dependsOn(Operation *op, size_t state) const {
    return dependences.at(op).test(state);
  }
  void markGradients(size_t parameter, const State &updated);
  void markGradient(Operation *op, StringAttr parameter);

  func::FuncOp function;
  Block &body;
  SmallVector<State> states;
  /// By op, the states that its results depend on.
  DenseMap<Operation *, llvm::BitVector> dependences;
  /// States that updates keep for themselves.
  llvm::BitVector optimizerStates;
};

} // namespace

static bool isFloat(Value value) {
  return isa<FloatType>(typeOf(value).getElementType());
}

/// Whether an element of the result is computed of those at the same index.
static bool isElementwise(Operation *op) {
  return OpTrait::hasElementwiseMappableTraits(op) ||
         isa<ConstraintOp, MicrobatchSumOp>(op);
}

/// Whether the op moves or adds the pieces of which a gradient consists.
static bool isAssembly(Operation *op) {
  if (isa<BroadcastOp, ReduceOp>(op)) // of dimensions of size 1
    return typeOf(op->getOperand(0)).getNumElements() ==
           typeOf(op->getResult(0)).getNumElements();
  return isa<TransposeOp, ReshapeOp, SliceOp, PadOp, ConcatOp, ConstraintOp,
             MicrobatchSumOp, arith::AddFOp, arith::ExtFOp, arith::TruncFOp>(
      op);
}

/// The floats among the arguments that a result has the name of.
void TrainingFacts::findStates() {
  Operation *terminator = body.getTerminator();
  llvm::StringMap<Value> results;
  auto nameOf = [](Attribute attr) {
    return cast<StringAttr>(attr).getValue();
  };
  for (OpOperand &use : terminator->getOpOperands())
    results[nameOf(function.getResultAttr(
        use.getOperandNumber(), WeftDialect::kNameAttrName))] = use.get();
  for (BlockArgument argument : body.getArguments()) {
    Value next = results.lookup(nameOf(function.getArgAttr(
        argument.getArgNumber(), WeftDialect::kNameAttrName)));
    if (!next || next == argument || !isFloat(argument))
      continue;
    findOperands(states.emplace_back(argument), next);
  }
}

/// Whether an op repeats a value, as it does scalars and rows (rates, norms).
/// That which only has more dimensions may be the gradient of a stack of one.
static bool isRepeated(Operation *op) {
  return isa<BroadcastOp>(op) &&
         (!isAssembly(op) || typeOf(op->getOperand(0)).getRank() == 0);
}

/// Walks from the next value of a state through ops on single elements. What is
/// repeated is no gradient of the state.
void TrainingFacts::findOperands(State &state, Value next) {
  SmallVector<Value> toVisit = {next};
  DenseSet<Value> visited;
  while (!toVisit.empty()) {
    Value value = toVisit.pop_back_val();
    if (!visited.insert(value).second ||
        typeOf(value).getShape() != typeOf(state.argument).getShape())
      continue;
    Operation *op = value.getDefiningOp();
    state.isReadByUpdate |= value == state.argument;
    if (op && isElementwise(op))
      llvm::append_range(toVisit, op->getOperands());
    else if (op && !isRepeated(op) && isFloat(value))
      state.operands.push_back(op);
  }
}

void TrainingFacts::findDependences() {
  DenseMap<Value, size_t> numbers;
  for (auto [number, state] : llvm::enumerate(states))
    numbers[state.argument] = number;
  for (Operation &op : body) {
    llvm::BitVector &ofOp = dependences[&op];
    ofOp.resize(states.size());
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        ofOp |= dependences.at(producer);
      else if (auto state = numbers.find(operand); state != numbers.end())
        ofOp.set(state->second);
  }
}

/// What the update of a state takes of the parameter. An operand on which an
/// optimizer has worked, such as an orthogonalised momentum, is no gradient;
/// what the momentum is updated with is.
void TrainingFacts::markGradients(size_t parameter, const State &updated) {
  BlockArgument argument = states[parameter].argument;
  auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                    WeftDialect::kNameAttrName);
  for (Operation *op : updated.operands) {
    if (!dependsOn(op, parameter))
      continue;
    llvm::BitVector used = dependences.at(op);
    used &= optimizerStates;
    if (used.none())
      markGradient(op, name);
    else if (updated.argument == argument)
      for (unsigned state : used.set_bits())
        if (states[state].argument.getType() == argument.getType())
          markGradients(parameter, states[state]);
  }
}

void TrainingFacts::markGradient(Operation *op, StringAttr parameter) {
  llvm::SetVector<Operation *> pieces;
  pieces.insert(op);
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!isAssembly(pieces[i]))
      continue;
    for (Value operand : pieces[i]->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        pieces.insert(producer);
  }
  for (Operation *piece : pieces)
    if (!piece->hasTrait<OpTrait::ConstantLike>() &&
        gradientOf(getOrigin(piece)).empty())
      setOrigin(piece, withGradientOf(getOrigin(piece), parameter));
}

void TrainingFacts::mark() {
  findStates();
  if (states.empty())
    return;
  findDependences();
  llvm::BitVector parameters(states.size());
  optimizerStates.resize(states.size());
  for (auto [number, state] : llvm::enumerate(states)) {
    if (!state.isReadByUpdate)
      continue;
    bool isParameter = llvm::any_of(
        state.operands, [&](Operation *op) { return dependsOn(op, number); });
    bool isScalar = typeOf(state.argument).getRank() == 0;
    if (isParameter)
      parameters.set(number);
    else if (!isScalar)
      optimizerStates.set(number);
  }
  for (unsigned number : parameters.set_bits()) {
    function.setArgAttr(states[number].argument.getArgNumber(),
                        WeftDialect::kParameterAttrName,
                        UnitAttr::get(function.getContext()));
    markGradients(number, states[number]);
  }
}

void weft::stablehlo::markTrainingFacts(func::FuncOp function) {
  TrainingFacts(function).mark();
}
