//===- Tape.cpp - A function run forward and back -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tape.h"

#include "weft/IR/Origin.h"
#include "weft/IR/SourceLocation.h"
#include "weft/IR/VjpBuilder.h"
#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

namespace {

/// The cotangents found so far. Keys are values of the function, not of the
/// copy, in which two arguments may be one value.
class Cotangents {
public:
  SmallVector<Value> lookup(ValueRange values) const {
    return llvm::map_to_vector(values,
                               [&](Value value) { return sums.lookup(value); });
  }

  void add(Value value, Value cotangent, OpBuilder &builder, Location loc) {
    if (!cotangent)
      return;
    Value &sum = sums[value];
    if (!sum) {
      sum = cotangent;
      return;
    }
    llvm::SmallBitVector none;
    sum = VjpBuilder(builder, loc, {}, none).add(sum, cotangent);
  }

  /// The sum so far, which is to be part of another one.
  Value take(Value value) {
    Value sum = sums.lookup(value);
    sums.erase(value);
    return sum;
  }

private:
  DenseMap<Value, Value> sums;
};

} // namespace

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

func::FuncOp weft::calleeOf(CheckpointOp op) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op,
                                                            op.getCalleeAttr());
}

void Tape::copy(Operation &op, OpBuilder &builder, Location loc) {
  auto checkpoint = dyn_cast<CheckpointOp>(op);
  if (!checkpoint) {
    builder.clone(op, copies)->setLoc(loc);
    return;
  }
  auto operands = llvm::map_to_vector(
      op.getOperands(), [&](Value value) { return copies.lookup(value); });
  auto &inner = checkpoints[&op] =
      std::make_unique<Tape>(calleeOf(checkpoint), operands, builder, loc);
  copies.map(op.getResults(), inner->getResults());
}

Tape::Tape(func::FuncOp function, ValueRange operands, OpBuilder &builder,
           Location call)
    : body(function.getBody().front()) {
  copies.map(body.getArguments(), operands);
  for (Operation &op : body.without_terminator())
    copy(op, builder, CallSiteLoc::get(op.getLoc(), call));
}

SmallVector<Value> Tape::getResults() const {
  return llvm::map_to_vector(body.getTerminator()->getOperands(),
                             [&](Value value) { return copies.lookup(value); });
}

/// Whether one of the names is given to the value, or to what a constraint
/// makes of it.
static bool isNamed(Value value, ArrayAttr names) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (auto named = dyn_cast<CheckpointNameOp>(user))
      return llvm::is_contained(names, named.getNameAttr());
    return isa<ConstraintOp>(user) && isNamed(user->getResult(0), names);
  });
}

/// Whether the policy of the checkpoint keeps the results of an op in it. A
/// name keeps all of them: the derivative of attention needs its logsumexp
/// beside what is named.
static bool isKept(Operation &op, CheckpointOp checkpoint) {
  if (checkpoint.getPolicy() == "dots")
    return isa<ProductOpInterface>(op);
  std::optional<ArrayAttr> names = checkpoint.getNames();
  return names && llvm::any_of(op.getResults(), [&](Value result) {
           return isNamed(result, *names);
         });
}

std::unique_ptr<Tape> Tape::replay(CheckpointOp checkpoint,
                                   ArrayRef<Value> cotangents,
                                   ArrayRef<Value> earlier,
                                   OpBuilder &builder) const {
  std::unique_ptr<Tape> again(new Tape(body));
  OriginListener listener(withRecomputed({}, builder.getContext()));
  OpBuilder recorder(builder);
  recorder.setListener(&listener);
  auto takeOver = [&](Value value) -> Value {
    Value held = copies.lookup(value);
    Value later =
        BarrierOp::create(builder, held.getLoc(), held,
                          isa<BlockArgument>(held) ? earlier : cotangents);
    again->copies.map(value, later);
    return later;
  };
  for (BlockArgument argument : body.getArguments())
    takeOver(argument);
  for (Operation &op : body.without_terminator()) {
    again->copy(op, recorder, derivedFrom(op.getLoc(), kRecomputationOf));
    // What is kept is copied as well: its derivative has to find its operands
    // as they are recomputed. Without uses the copy is erased.
    if (isKept(op, checkpoint))
      for (Value result : op.getResults()) {
        Value copy = again->copies.lookup(result), held = takeOver(result);
        if (!isa<CheckpointOp>(op))
          again->kept.push_back({copy, held});
      }
  }
  return again;
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

static llvm::SmallBitVector findNonZero(ArrayRef<Value> cotangents) {
  llvm::SmallBitVector found(cotangents.size());
  for (auto [index, cotangent] : llvm::enumerate(cotangents))
    found[index] = bool(cotangent);
  return found;
}

SmallVector<Value>
Tape::pullBackCheckpoint(CheckpointOp op, const llvm::SmallBitVector &wanted,
                         ArrayRef<Value> cotangents, ArrayRef<Value> sums,
                         ArrayRef<Value> earlier, OpBuilder &builder) const {
  llvm::SmallBitVector given = findNonZero(cotangents);
  Activity activity(calleeOf(op), wanted, given);
  const Tape &forward = *checkpoints.at(op);
  if (op.getPolicy() == "everything")
    return forward.pullBack(activity, cotangents, sums, builder);
  auto present = llvm::map_to_vector(
      given.set_bits(), [&](unsigned index) { return cotangents[index]; });
  std::unique_ptr<Tape> again =
      forward.replay(op, present, earlier.empty() ? present : earlier, builder);
  auto found = again->pullBack(activity, cotangents, sums, builder);
  // A derivative reads the results of an op's copy; only now are they there.
  for (auto [copy, held] : again->kept)
    copy.replaceAllUsesWith(held);
  return found;
}

/// What is recomputed is the transpose of the same line.
static Location locationOfTranspose(Operation *op, Operation *copy) {
  bool isAgain = isRecomputed(getOrigin(copy));
  return derivedFrom(isAgain ? op->getLoc() : copy->getLoc(), kTransposeOf);
}

/// `copy` is that of `op`, an op of the function.
static SmallVector<Value> pullBackOp(Operation *op, Operation *copy,
                                     const llvm::SmallBitVector &wanted,
                                     ArrayRef<Value> cotangents,
                                     OpBuilder &builder) {
  VjpBuilder vjp(builder, locationOfTranspose(op, copy), cotangents, wanted);
  cast<VjpOpInterface>(copy).buildVjp(vjp);
  return SmallVector<Value>(vjp.getOperandCotangents());
}

SmallVector<Value> Tape::pullBack(const Activity &activity,
                                  ArrayRef<Value> ofResults,
                                  ArrayRef<Value> sums,
                                  OpBuilder &builder) const {
  Cotangents cotangents;
  for (auto [argument, sum] : llvm::zip(body.getArguments(), sums))
    cotangents.add(argument, sum, builder, argument.getLoc());
  // Those that the last checkpoint met started from. The parameters of the next
  // one may be fetched while its derivative is computed.
  SmallVector<Value> earlier;
  Operation *ret = body.getTerminator();
  for (auto [result, cotangent] :
       llvm::zip_equal(ret->getOperands(), ofResults))
    cotangents.add(result, cotangent, builder, ret->getLoc());
  for (Operation *op : llvm::reverse(activity.getOps())) {
    OriginListener listener(
        withBackward(withoutGradient(getOrigin(op)), builder.getContext()));
    OpBuilder recorder(builder);
    recorder.setListener(&listener);
    auto given = cotangents.lookup(op->getResults());
    if (findNonZero(given).none())
      continue;
    llvm::SmallBitVector wanted(op->getNumOperands());
    for (OpOperand &use : op->getOpOperands())
      wanted[use.getOperandNumber()] = activity.isActive(use);
    SmallVector<Value> found;
    if (auto checkpoint = dyn_cast<CheckpointOp>(op)) {
      // Terms are added to what is there one by one, as without the checkpoint:
      // in another order the sum would have other bits.
      SmallVector<Value> sums(op->getNumOperands());
      for (unsigned index : wanted.set_bits())
        sums[index] = cotangents.take(op->getOperand(index));
      found =
          pullBackCheckpoint(checkpoint, wanted, given, sums, earlier, builder);
      earlier = llvm::filter_to_vector(given,
                                       [](Value value) { return bool(value); });
    } else {
      found = pullBackOp(op, copies.lookup(op), wanted, given, recorder);
    }
    Location loc = derivedFrom(op->getLoc(), kTransposeOf);
    for (unsigned index : wanted.set_bits())
      cotangents.add(op->getOperand(index), found[index], recorder, loc);
  }
  return cotangents.lookup(body.getArguments());
}
