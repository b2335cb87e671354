//===- PaddingOps.cpp - Ops on padded dimensions --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IdentityRule.h"
#include "ShapeChecks.h"
#include "weft/IR/WeftOps.h"

#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace weft;

LogicalResult MaskPaddingOp::verify() {
  RankedTensorType type = getType();
  int64_t dim = getDim(), size = getSize();
  if (dim < 0 || dim >= type.getRank())
    return emitOpError() << "dim " << dim << " is out of range for rank "
                         << type.getRank();
  if (size < 0 || size > type.getDimSize(dim))
    return emitOpError() << "size must be between 0 and the "
                         << type.getDimSize(dim) << " elements of dim " << dim
                         << ", got " << size;
  if (getValue().getType() != type.getElementType())
    return emitOpError("value must have the element type ")
           << type.getElementType() << ", got " << getValue().getType();
  return success();
}

sharding::ShardingRule MaskPaddingOp::getShardingRule() {
  return identityRule(getType());
}

/// A sum over devices would have the value as often as there are devices.
sharding::Linearity MaskPaddingOp::getLinearity() {
  return matchPattern(getValue(), m_AnyZeroFloat()) ||
                 matchPattern(getValue(), m_Zero())
             ? sharding::Linearity::Linear
             : sharding::Linearity::NotLinear;
}

LogicalResult RearrangeOp::verify() {
  int64_t dim = getDim();
  sharding::ElementMap map = getMap().toMap();
  auto first = cast<RankedTensorType>(getOperands().front().getType());
  if (failed(verifyDimsInRange(*this, "dim", dim, first.getRank())))
    return failure();
  SmallVector<int64_t> sizes;
  for (Value operand : getOperands()) {
    auto type = cast<RankedTensorType>(operand.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (type.getRank() == first.getRank()) {
      sizes.push_back(shape[dim]);
      shape[dim] = first.getDimSize(dim);
    }
    if (ArrayRef<int64_t>(shape) != first.getShape())
      return emitOpError("operands must have one shape but for dim ")
             << dim << ", got " << first << " and " << type;
  }
  if (ArrayRef<int64_t>(sizes) != getMap().getFrom())
    return emitOpError("the map takes segments of [")
           << getMap().getFrom() << "], the operands have [" << sizes << "]";
  if (std::optional<TypedAttr> value = getValue();
      value && value->getType() != first.getElementType())
    return emitOpError("value must have the element type ")
           << first.getElementType() << ", got " << value->getType();
  SmallVector<int64_t> joined(first.getShape());
  joined[dim] = std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
  return verifyElementMap(*this, getMap(), /*members=*/1, first.clone(joined),
                          getType(), dim);
}

/// Along the dimension each operand and the result have a factor of their own.
sharding::ShardingRule RearrangeOp::getShardingRule() {
  using sharding::FactorKind;
  sharding::ShardingRule rule;
  rule.category = sharding::OpCategory::DataFlow;
  sharding::TensorFactors &result = rule.results.emplace_back();
  int64_t movedDim = getDim();
  for (auto [dim, size] : llvm::enumerate(getType().getShape()))
    result.push_back({rule.addFactor(size, int64_t(dim) == movedDim
                                               ? FactorKind::NeedReplication
                                               : FactorKind::PassThrough)});
  for (Value operand : getOperands()) {
    sharding::TensorFactors &factors = rule.operands.emplace_back(result);
    factors[movedDim] = {rule.addFactor(
        cast<RankedTensorType>(operand.getType()).getDimSize(movedDim),
        FactorKind::NeedReplication)};
  }
  return rule;
}

/// As of a padding: a sum over devices would have the value as often as there
/// are devices.
sharding::Linearity RearrangeOp::getLinearity() {
  return !getValue() || matchPattern(*getValue(), m_AnyZeroFloat()) ||
                 matchPattern(*getValue(), m_Zero())
             ? sharding::Linearity::Linear
             : sharding::Linearity::NotLinear;
}
