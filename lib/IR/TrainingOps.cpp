//===- TrainingOps.cpp - Ops that speak of gradients ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/VjpBuilder.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The function that `callee` names, if its body can take the op's place.
static FailureOr<func::FuncOp> findCallee(Operation *op,
                                          FlatSymbolRefAttr callee,
                                          SymbolTableCollection &symbols) {
  auto function = symbols.lookupNearestSymbolFrom<func::FuncOp>(op, callee);
  if (!function)
    return op->emitOpError() << "unknown function " << callee;
  if (!function.isPrivate())
    return op->emitOpError()
           << "needs a private function, but " << callee
           << " is public and thus an entry of its own; make it private";
  if (function.isExternal())
    return op->emitOpError() << "needs a function with a body, but " << callee
                             << " is declared only";
  return function;
}

static LogicalResult verifyTypes(Operation *op, StringRef what, TypeRange types,
                                 TypeRange expected) {
  if (types.size() != expected.size())
    return op->emitOpError() << "must have " << expected.size() << " " << what
                             << "s, got " << types.size();
  for (auto [index, type, wanted] : llvm::enumerate(types, expected))
    if (type != wanted)
      return op->emitOpError() << what << " " << index << " must be " << wanted
                               << ", got " << type;
  return success();
}

//===----------------------------------------------------------------------===//
// value_and_grad
//===----------------------------------------------------------------------===//

/// Each argument at most once, and such as have derivatives.
static LogicalResult verifyWrt(ValueAndGradOp op, TypeRange arguments) {
  llvm::SmallBitVector seen(arguments.size());
  for (int64_t index : op.getWrt()) {
    if (index < 0 || index >= static_cast<int64_t>(arguments.size()))
      return op.emitOpError()
             << "wrt names argument " << index << ", but " << op.getCalleeAttr()
             << " has " << arguments.size();
    if (seen.test(index))
      return op.emitOpError() << "wrt names argument " << index << " twice";
    seen.set(index);
    if (!carriesCotangent(arguments[index]))
      return op.emitOpError()
             << "cannot differentiate by argument " << index << " of type "
             << arguments[index] << ": its elements are not floating-point";
  }
  return success();
}

LogicalResult ValueAndGradOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<func::FuncOp> callee = findCallee(*this, getCalleeAttr(), symbols);
  if (failed(callee))
    return failure();
  FunctionType type = callee->getFunctionType();
  if (failed(
          verifyTypes(*this, "operand", getOperandTypes(), type.getInputs())) ||
      failed(verifyWrt(*this, type.getInputs())))
    return failure();
  auto loss = type.getNumResults() == 0
                  ? RankedTensorType()
                  : dyn_cast<RankedTensorType>(type.getResult(0));
  if (!loss || loss.getRank() != 0 || !carriesCotangent(loss))
    return emitOpError() << "needs a function whose first result is a loss, a "
                            "floating-point scalar, but "
                         << getCalleeAttr() << " has type " << type;
  SmallVector<Type> results(type.getResults());
  for (int64_t index : getWrt())
    results.push_back(type.getInput(index));
  return verifyTypes(*this, "result", getResultTypes(), results);
}

//===----------------------------------------------------------------------===//
// checkpoint
//===----------------------------------------------------------------------===//

static LogicalResult verifyPolicy(CheckpointOp op) {
  StringRef policy = op.getPolicy();
  if (policy != "nothing" && policy != "dots" && policy != "names" &&
      policy != "everything")
    return op.emitOpError()
           << "policy must be \"nothing\", \"dots\", \"names\" or "
              "\"everything\", got "
           << op.getPolicyAttr();
  if ((policy == "names") != bool(op.getNamesAttr()))
    return op.emitOpError() << "needs a list of names with the policy "
                               "\"names\" and with no other";
  return success();
}

LogicalResult CheckpointOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<func::FuncOp> callee = findCallee(*this, getCalleeAttr(), symbols);
  if (failed(callee) || failed(verifyPolicy(*this)))
    return failure();
  FunctionType type = callee->getFunctionType();
  if (failed(
          verifyTypes(*this, "operand", getOperandTypes(), type.getInputs())))
    return failure();
  return verifyTypes(*this, "result", getResultTypes(), type.getResults());
}

void CheckpointNameOp::buildVjp(VjpBuilder &b) {
  b.addCotangent(0, b.getCotangent());
}

//===----------------------------------------------------------------------===//
// stage_boundary
//===----------------------------------------------------------------------===//

LogicalResult StageBoundaryOp::verify() {
  if (!getOf())
    return success();
  auto forward = getOf().getDefiningOp<StageBoundaryOp>();
  if (!forward || forward.getOf())
    return emitOpError("needs as `of` the result of a weft.stage_boundary that "
                       "goes forward");
  if (getOf().getType() != getResult().getType())
    return emitOpError() << "takes back a value of type "
                         << getResult().getType()
                         << ", but what went forward is of type "
                         << getOf().getType();
  return success();
}

/// The cotangent of one that goes back goes forward again, as any value.
void StageBoundaryOp::buildVjp(VjpBuilder &b) {
  if (getOf())
    return b.addCotangent(0, b.getCotangent());
  b.addCotangent(0, StageBoundaryOp::create(b, getResult().getType(),
                                            b.getCotangent(), getResult()));
}

bool StageBoundaryOp::isFlatIn(unsigned operand) { return operand != 0; }

//===----------------------------------------------------------------------===//
// barrier
//===----------------------------------------------------------------------===//

void BarrierOp::buildVjp(VjpBuilder &b) { b.addCotangent(0, b.getCotangent()); }

bool BarrierOp::isFlatIn(unsigned operand) { return operand != 0; }

//===----------------------------------------------------------------------===//
// stop_gradient
//===----------------------------------------------------------------------===//

void StopGradientOp::buildVjp(VjpBuilder &) {}

bool StopGradientOp::isFlatIn(unsigned) { return true; }
