//===- MicrobatchOps.cpp - What is computed once a micro-batch ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IdentityRule.h"

#include "weft/IR/VjpBuilder.h"
#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;
using sharding::FactorKind;
using sharding::Linearity;
using sharding::OpCategory;
using sharding::ShardingRule;
using sharding::TensorFactors;

/// Checks that `whole` is `single` with a dimension more, one entry for each
/// micro-batch.
static LogicalResult verifyDim(Operation *op, StringRef what,
                               RankedTensorType whole, RankedTensorType single,
                               int64_t dim, int64_t count) {
  if (dim < 0 || dim >= whole.getRank())
    return op->emitOpError()
           << "dim " << dim << " is out of range for rank " << whole.getRank();
  if (whole.getDimSize(dim) != count)
    return op->emitOpError()
           << "dim " << dim << " must have the size of the " << count
           << " micro-batches, got " << whole.getDimSize(dim);
  SmallVector<int64_t> shape(whole.getShape());
  shape.erase(shape.begin() + dim);
  if (RankedTensorType wanted = whole.clone(shape); wanted != single)
    return op->emitOpError()
           << what << " must be " << wanted << ", got " << single;
  return success();
}

/// The rule of two tensors of which `whole` has a dimension more, which no axis
/// splits: devices hold their shard of every micro-batch.
static ShardingRule rule(RankedTensorType whole, int64_t dim, bool slices) {
  ShardingRule rule;
  rule.category = OpCategory::Other;
  TensorFactors ofWhole, ofSingle;
  for (auto [index, size] : llvm::enumerate(whole.getShape())) {
    bool isDim = static_cast<int64_t>(index) == dim;
    int32_t factor = rule.addFactor(size, isDim ? FactorKind::NeedReplication
                                                : FactorKind::PassThrough);
    ofWhole.push_back({factor});
    if (!isDim)
      ofSingle.push_back({factor});
  }
  rule.operands.push_back(slices ? ofWhole : ofSingle);
  rule.results.push_back(slices ? ofSingle : ofWhole);
  return rule;
}

//===----------------------------------------------------------------------===//
// microbatch_slice
//===----------------------------------------------------------------------===//

LogicalResult MicrobatchSliceOp::verify() {
  return verifyDim(*this, "result", getOperand().getType(), getType(), getDim(),
                   getMicrobatches().getCount());
}

ShardingRule MicrobatchSliceOp::getShardingRule() {
  return rule(getOperand().getType(), getDim(), /*slices=*/true);
}

Linearity MicrobatchSliceOp::getLinearity() { return Linearity::Linear; }

void MicrobatchSliceOp::buildVjp(VjpBuilder &b) {
  b.addCotangent(0, MicrobatchStackOp::create(b, getOperand().getType(),
                                              b.getCotangent(), getDim(),
                                              getMicrobatches()));
}

//===----------------------------------------------------------------------===//
// microbatch_use
//===----------------------------------------------------------------------===//

ShardingRule MicrobatchUseOp::getShardingRule() {
  return identityRule(getType());
}

Linearity MicrobatchUseOp::getLinearity() { return Linearity::Linear; }

void MicrobatchUseOp::buildVjp(VjpBuilder &b) {
  b.addCotangent(
      0, MicrobatchSumOp::create(b, b.getCotangent(), getMicrobatches()));
}

//===----------------------------------------------------------------------===//
// microbatch_sum
//===----------------------------------------------------------------------===//

LogicalResult MicrobatchSumOp::verify() {
  if (getType().getElementType().isInteger(1))
    return emitOpError("cannot sum predicates; convert them to integers");
  return success();
}

ShardingRule MicrobatchSumOp::getShardingRule() {
  return identityRule(getType());
}

Linearity MicrobatchSumOp::getLinearity() { return Linearity::Linear; }

void MicrobatchSumOp::buildVjp(VjpBuilder &b) {
  b.addCotangent(
      0, MicrobatchUseOp::create(b, b.getCotangent(), getMicrobatches()));
}

//===----------------------------------------------------------------------===//
// microbatch_stack
//===----------------------------------------------------------------------===//

LogicalResult MicrobatchStackOp::verify() {
  return verifyDim(*this, "operand", getType(), getOperand().getType(),
                   getDim(), getMicrobatches().getCount());
}

ShardingRule MicrobatchStackOp::getShardingRule() {
  return rule(getType(), getDim(), /*slices=*/false);
}

Linearity MicrobatchStackOp::getLinearity() { return Linearity::Linear; }

void MicrobatchStackOp::buildVjp(VjpBuilder &b) {
  b.addCotangent(0, MicrobatchSliceOp::create(b, getOperand().getType(),
                                              b.getCotangent(), getDim(),
                                              getMicrobatches()));
}
