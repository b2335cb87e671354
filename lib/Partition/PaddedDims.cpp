//===- PaddedDims.cpp - Which dimensions are padded, and to what ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PaddedDims.h"

#include "weft/IR/ValueSharding.h"
#include "weft/IR/WindowOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;
using sharding::DimFactors;
using sharding::FactorKind;
using sharding::ShardingRule;
using sharding::TensorFactors;

static RankedTensorType tensorType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Factors that may be padded
//===----------------------------------------------------------------------===//

/// Whether some dimension of the tensors is the factor.
static bool have(ArrayRef<TensorFactors> tensors, int32_t factor) {
  return llvm::any_of(tensors, [&](const TensorFactors &tensor) {
    return llvm::is_contained(tensor, DimFactors{factor});
  });
}

/// Whether the op makes elements behind the last one of a dimension that no
/// operand has, as it makes all others.
static bool makesElements(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return isa<IotaOp, BroadcastOp, ScatterAddOp>(op);
}

/// Whether the factor is that of the keys of attention. Behind the last one
/// there may be none: the softmax counts all.
static bool isOfKeys(Operation *op, const ShardingRule &rule, int32_t factor) {
  return isa<AttentionOp, AttentionGradOp>(op) &&
         rule.operands[1][1] == DimFactors{factor};
}

/// Whether the op has windows, which are made as many as the padded result has.
static bool hasWindows(Operation *op) {
  return isa<ConvolutionOp, ReduceWindowOp, SpreadWindowsOp>(op);
}

/// Whether the factor is that of the groups of a convolution, whose number is
/// stated beside the types.
static bool isOfGroups(Operation *op, const ShardingRule &rule,
                       int32_t factor) {
  auto convolution = dyn_cast<ConvolutionOp>(op);
  return convolution && convolution.getGroups() > 1 &&
         rule.operands[0][rule.results[0].size() - 1].front() == factor;
}

/// Whether the op means the same along the factor if elements follow behind the
/// last one: what it makes of them comes behind the last one again, or the
/// padding of the operand is masked, or it is not looked at.
static bool mayBePadded(Operation *op, const ShardingRule &rule,
                        int32_t factor) {
  bool inOperand = have(rule.operands, factor),
       inResult = have(rule.results, factor);
  if (isOfKeys(op, rule, factor) || isOfGroups(op, rule, factor))
    return false;
  switch (rule.factors[factor].kind) {
  case FactorKind::PassThrough:
    return inResult ? inOperand || makesElements(op) : isa<BarrierOp>(op);
  case FactorKind::Reduction:
    return isa<DotGeneralOp, ConvolutionOp, ReduceOp, GatherOp, ScatterAddOp,
               SliceOp>(op);
  case FactorKind::NeedReplication:
  case FactorKind::Permutation:
    return hasWindows(op) || (isa<SliceOp>(op) && !inResult);
  }
  llvm_unreachable("all kinds are covered");
}

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

int64_t PaddedDims::shardsOf(ShardingAttr attr, size_t dim) const {
  if (!attr)
    return 1;
  auto [entry, isNew] = resolved.try_emplace(attr);
  if (isNew)
    entry->second = attr.toSharding(mesh).value_or(
        sharding::Sharding::closed(attr.getRank()));
  return numShards(entry->second.dims[dim].axes);
}

void PaddedDims::findUneven(ModuleOp module) {
  auto visit = [&](Type type, ShardingAttr sharding) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && sharding)
      for (auto [dim, size] : llvm::enumerate(tensor.getShape()))
        hasUneven |= size % shardsOf(sharding, dim) != 0;
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    for (BlockArgument argument : function.getArguments())
      visit(argument.getType(), getSharding(argument));
    for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
      visit(type, getResultSharding(function, index));
    function.walk([&](Operation *op) {
      for (Value result : op->getResults())
        visit(result.getType(), getSharding(result));
      if (auto constraint = dyn_cast<ConstraintOp>(op))
        visit(constraint.getType(), constraint.getSharding());
    });
  }
}

void PaddedDims::splitDims(int32_t first, ShardingAttr sharding) {
  if (sharding)
    for (size_t dim = 0; dim < sharding.getRank(); ++dim)
      classes.split(first + dim, shardsOf(sharding, dim));
}

int32_t PaddedDims::addDims(RankedTensorType type, ShardingAttr sharding) {
  int32_t first = -1;
  for (int64_t size : type.getShape()) {
    int32_t dim = classes.add(size);
    first = first < 0 ? dim : first;
  }
  splitDims(first, sharding);
  return first;
}

void PaddedDims::joinDims(int32_t first, int32_t other, size_t rank) {
  for (size_t dim = 0; dim < rank; ++dim)
    classes.join(first + dim, other + dim);
}

/// Arguments and results of one name are one state, in all entries.
void PaddedDims::joinState(StringRef name, RankedTensorType type,
                           int32_t first) {
  auto [entry, isNew] = dimsOfState.try_emplace(name, type, first);
  if (!isNew && entry->second.first == type)
    joinDims(entry->second.second, first, type.getRank());
}

void PaddedDims::joinFactors(Operation *op, const ShardingRule &rule) {
  SmallVector<bool, 4> isWhole = sharding::findWholeDimFactors(rule);
  SmallVector<int32_t, 4> joined(rule.factors.size(), -1);
  auto visit = [&](Value value, const TensorFactors &tensor) {
    for (auto [dim, factors] : llvm::enumerate(tensor)) {
      if (factors.size() != 1 || !isWhole[factors.front()] ||
          !mayBePadded(op, rule, factors.front()))
        continue;
      int32_t &known = joined[factors.front()];
      int32_t number = dimsOfValue.at(value) + static_cast<int32_t>(dim);
      if (known >= 0)
        classes.join(known, number);
      known = number;
    }
  };
  for (auto [value, tensor] : llvm::zip_equal(op->getOperands(), rule.operands))
    visit(value, tensor);
  for (auto [value, tensor] : llvm::zip_equal(op->getResults(), rule.results))
    visit(value, tensor);
}

void PaddedDims::addOp(Operation *op) {
  for (Value result : op->getResults())
    if (RankedTensorType type = tensorType(result))
      dimsOfValue[result] = addDims(type, getSharding(result));
  if (auto constraint = dyn_cast<ConstraintOp>(op))
    splitDims(dimsOfValue.at(constraint.getResult()), constraint.getSharding());
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled)
    return;
  auto [entry, isNew] = rules.try_emplace(op, ruled.getShardingRule());
  joinFactors(op, entry->second);
}

void PaddedDims::addFunction(func::FuncOp function) {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    RankedTensorType type = tensorType(argument);
    int32_t first = dimsOfValue[argument] =
        addDims(type, getSharding(argument));
    joinState(getArgumentName(function, argument.getArgNumber()), type, first);
  }
  for (Operation &op : block.without_terminator())
    addOp(&op);
  for (auto [index, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    RankedTensorType type = tensorType(value);
    int32_t first = dimsOfResult[{function, index}] =
        addDims(type, getResultSharding(function, index));
    joinDims(first, dimsOfValue.at(value), type.getRank());
    joinState(getResultName(function, index), type, first);
  }
}

PaddedDims::PaddedDims(ModuleOp module, const sharding::Mesh &mesh)
    : mesh(mesh) {
  findUneven(module);
  if (hasUneven)
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && function.getBody().hasOneBlock())
        addFunction(function);
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

sharding::Shape PaddedDims::paddedShape(ArrayRef<int64_t> shape, int32_t first,
                                        ShardingAttr sharding) const {
  sharding::Shape padded(shape);
  for (auto [dim, size] : llvm::enumerate(padded))
    if (shardsOf(sharding, dim) > 1)
      size = classes.paddedSize(first + dim);
  return padded;
}

sharding::Shape PaddedDims::paddedShape(Value value,
                                        ShardingAttr sharding) const {
  return paddedShape(tensorType(value).getShape(), dimsOfValue.at(value),
                     sharding);
}

sharding::Shape PaddedDims::paddedResultShape(func::FuncOp function,
                                              unsigned index) const {
  auto type = cast<RankedTensorType>(function.getResultTypes()[index]);
  return paddedShape(type.getShape(), dimsOfResult.at({function, index}),
                     getResultSharding(function, index));
}

const ShardingRule *PaddedDims::ruleOf(Operation *op) const {
  auto rule = rules.find(op);
  return rule == rules.end() ? nullptr : &rule->second;
}

SmallVector<PaddedFactor, 4> PaddedDims::factorsOf(Operation *op) const {
  const ShardingRule &rule = rules.at(op);
  SmallVector<bool, 4> isWhole = sharding::findWholeDimFactors(rule);
  SmallVector<PaddedFactor, 4> factors;
  for (const sharding::Factor &factor : rule.factors)
    factors.push_back({factor.size, factor.size});
  auto visit = [&](Value value, const TensorFactors &tensor, bool isResult) {
    ShardingAttr sharding = isResult ? getSharding(value) : ShardingAttr();
    for (auto [dim, list] : llvm::enumerate(tensor)) {
      if (list.size() != 1 || !isWhole[list.front()] ||
          !mayBePadded(op, rule, list.front()))
        continue;
      PaddedFactor &factor = factors[list.front()];
      factor.paddedSize = classes.paddedSize(dimsOfValue.at(value) + dim);
      factor.isSplitInResult |= shardsOf(sharding, dim) > 1;
    }
  };
  for (auto [value, tensor] : llvm::zip_equal(op->getOperands(), rule.operands))
    visit(value, tensor, /*isResult=*/false);
  for (auto [value, tensor] : llvm::zip_equal(op->getResults(), rule.results))
    visit(value, tensor, /*isResult=*/true);
  return factors;
}
