//===- ShardingRuleModels.cpp - Rules of upstream ops ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/ShardingRuleModels.h"
#include "weft/IR/ShardingRuleOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace weft;
using sharding::Linearity;
using sharding::ShardingRule;

/// Upstream ops that commute with a sum over devices; all others do not.
/// A conversion to a narrower type is left out: it would round every term; so
/// is that of an integer to a wider one: partial sums may have wrapped around.
static Linearity linearityOf(Operation *op) {
  if (isa<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp,
          arith::NegFOp, arith::ExtFOp>(op))
    return Linearity::Linear;
  if (isa<arith::MulFOp, arith::MulIOp>(op))
    return Linearity::LinearInOne;
  if (isa<arith::DivFOp>(op))
    return Linearity::LinearInFirst;
  return Linearity::NotLinear;
}

static size_t rankOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getRank() : 0;
}

namespace {

/// Model of every op with the ElementwiseMappable traits, whatever its class.
struct ElementwiseModel
    : ShardingRuleOpInterface::FallbackModel<ElementwiseModel> {
  ShardingRule getShardingRule(Operation *op) const {
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<size_t> ranks;
    for (Type operand : op->getOperandTypes())
      ranks.push_back(rankOf(operand));
    return sharding::elementwiseRule(type ? type.getShape()
                                          : ArrayRef<int64_t>(),
                                     ranks, op->getNumResults());
  }
  ShardingRule getPropagationRule(Operation *op) const {
    return getShardingRule(op);
  }
  Linearity getLinearity(Operation *op) const { return linearityOf(op); }
};

/// A constant may be split in any way: every device writes its own part.
struct ConstantModel
    : ShardingRuleOpInterface::ExternalModel<ConstantModel, arith::ConstantOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule;
    auto &result = rule.results.emplace_back();
    if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType()))
      for (int64_t size : type.getShape())
        result.push_back({rule.addFactor(size)});
    return rule;
  }
  Linearity getLinearity(Operation *) const { return Linearity::NotLinear; }
};

} // namespace

template <typename Dialect>
static void attachElementwise(MLIRContext *context) {
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (isa<Dialect>(name.getDialect()) &&
        name.hasTrait<OpTrait::Elementwise>() &&
        name.hasTrait<OpTrait::Tensorizable>())
      name.attachInterface<ElementwiseModel>();
}

void weft::registerShardingRuleModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attachElementwise<arith::ArithDialect>(context);
    arith::ConstantOp::attachInterface<ConstantModel>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attachElementwise<math::MathDialect>(context);
  });
}
