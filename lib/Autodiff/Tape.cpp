//===- Tape.cpp - A function run forward and back -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tape.h"

#include "weft/IR/SourcePlace.h"
#include "weft/IR/VjpBuilder.h"
#include "weft/IR/VjpOpInterface.h"

using namespace mlir;
using namespace weft;

namespace {

/// The cotangents found so far. Keys are values of the function, not of the
/// copy, in which two arguments may be one value.
class Cotangents {
public:
  Value lookup(Value value) const { return sums.lookup(value); }

  void add(Value value, Value cotangent, OpBuilder &builder, Location loc) {
    if (!cotangent)
      return;
    Value &sum = sums[value];
    if (!sum) {
      sum = cotangent;
      return;
    }
    Value terms[] = {sum, cotangent};
    llvm::SmallBitVector none;
    sum = VjpBuilder(builder, loc, {}, none).add(terms[0], terms[1]);
  }

private:
  DenseMap<Value, Value> sums;
};

} // namespace

Tape::Tape(func::FuncOp function, ValueRange operands, OpBuilder &builder,
           Location call)
    : body(function.getBody().front()) {
  copies.map(body.getArguments(), operands);
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, copies);
    copy->setLoc(CallSiteLoc::get(op.getLoc(), call));
  }
}

SmallVector<Value> Tape::getResults() const {
  return llvm::map_to_vector(body.getTerminator()->getOperands(),
                             [&](Value value) { return copies.lookup(value); });
}

/// Emits what `op`, an op of the function, adds to the cotangents of its
/// operands.
static void pullBackOp(Operation *op, Operation *copy, const Activity &activity,
                       Cotangents &cotangents, OpBuilder &builder) {
  auto ofResults = llvm::map_to_vector(op->getResults(), [&](Value result) {
    return cotangents.lookup(result);
  });
  if (llvm::none_of(ofResults, [](Value value) { return bool(value); }))
    return;
  llvm::SmallBitVector wanted(op->getNumOperands());
  for (OpOperand &use : op->getOpOperands())
    wanted[use.getOperandNumber()] = activity.isActive(use);
  VjpBuilder vjp(builder, derivedFrom(copy->getLoc(), kTransposeOf), ofResults,
                 wanted);
  cast<VjpOpInterface>(copy).buildVjp(vjp);
  for (unsigned index : wanted.set_bits())
    cotangents.add(op->getOperand(index), vjp.getOperandCotangents()[index],
                   builder, vjp.getLoc());
}

SmallVector<Value> Tape::pullBack(const Activity &activity,
                                  ArrayRef<Value> ofResults,
                                  OpBuilder &builder) const {
  Cotangents cotangents;
  for (auto [result, cotangent] :
       llvm::zip_equal(body.getTerminator()->getOperands(), ofResults))
    cotangents.add(result, cotangent, builder, body.getTerminator()->getLoc());
  for (Operation *op : llvm::reverse(activity.getOps()))
    pullBackOp(op, copies.lookup(op), activity, cotangents, builder);
  return llvm::map_to_vector(body.getArguments(), [&](Value argument) {
    return cotangents.lookup(argument);
  });
}
