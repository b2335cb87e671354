//===- WindowRules.cpp - How windows are split ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dimension that windows are of has a factor in the operand and one in the
// result, since the two have different sizes. For propagation they are one.
//
// Where a kernel has more elements than there are windows, as in the derivative
// by a kernel, a window for each element of the kernel takes the place of one
// for each element of the result: with both split alike, each device has the
// products of its elements of the kernel, and partial sums.
//
//===----------------------------------------------------------------------===//

#include "Dims.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/WindowOps.h"
#include "weft/IR/WindowSplits.h"

using namespace mlir;
using namespace weft;
using sharding::DimFactors;
using sharding::FactorKind;
using sharding::Linearity;
using sharding::Reduction;
using sharding::ShardingRule;
using sharding::TensorFactors;
using sharding::WindowedDim;

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Whether each window is one element, and each element a window.
static bool areElements(const WindowedDim &windows) {
  return windows.extent == 1 && windows.step == 1 && windows.low == 0 &&
         windows.dilation == 1 && windows.size == windows.count;
}

/// Along spatial dimension `i`.
static WindowSplit splitOf(ConvolutionOp op, int64_t i, RankedTensorType lhs,
                           RankedTensorType rhs, RankedTensorType result) {
  int64_t size = lhs.getDimSize(i + 1), kernel = rhs.getDimSize(i),
          made = result.getDimSize(i + 1), low = op.getLow()[i],
          stride = op.getStrides()[i], dilation = op.getRhsDilation()[i],
          spread = op.getLhsDilation()[i];
  if (made < kernel)
    return {i + 1,
            i,
            true,
            {size, kernel, dilation, dilated(made, stride), low, spread}};
  return {i + 1,
          i + 1,
          false,
          {size, made, stride, dilated(kernel, dilation), low, spread}};
}

/// Of a tensor of which another one has an element for each window.
static WindowedDim ofDim(const Windows &windows, RankedTensorType type,
                         RankedTensorType made) {
  return {type.getDimSize(windows.dim),
          made.getDimSize(windows.dim),
          windows.stride,
          windows.span(),
          windows.low,
          1};
}

static SmallVector<WindowSplit, 2>
allSplits(Operation *op, ArrayRef<RankedTensorType> operands,
          RankedTensorType result) {
  SmallVector<WindowSplit, 2> splits;
  if (auto convolution = dyn_cast<ConvolutionOp>(op))
    for (int64_t i = 0; i < result.getRank() - 2; ++i)
      splits.push_back(
          splitOf(convolution, i, operands[0], operands[1], result));
  if (auto reduce = dyn_cast<ReduceWindowOp>(op)) {
    Windows windows = windowsOf(reduce);
    splits.push_back(
        {windows.dim, windows.dim, false, ofDim(windows, operands[0], result)});
  }
  if (auto spread = dyn_cast<SpreadWindowsOp>(op)) {
    Windows windows = windowsOf(spread);
    splits.push_back(
        {windows.dim, windows.dim, false, ofDim(windows, result, operands[0])});
    splits.back().isTransposed = true;
    splits.back().hasExtrema = operands.size() > 1;
  }
  return splits;
}

static SmallVector<WindowSplit, 2> allSplits(Operation *op) {
  return allSplits(op, llvm::map_to_vector(op->getOperands(), typeOf),
                   typeOf(op->getResult(0)));
}

SmallVector<WindowSplit, 2>
weft::findWindowSplits(Operation *op, ArrayRef<RankedTensorType> operands,
                       RankedTensorType result) {
  SmallVector<WindowSplit, 2> splits = allSplits(op, operands, result);
  llvm::erase_if(splits, [](const WindowSplit &split) {
    return areElements(split.windows);
  });
  return splits;
}

/// What is added to elements of others is sent to the member before or behind.
std::optional<sharding::HaloExchange>
WindowSplit::exchange(int64_t members) const {
  std::optional<sharding::HaloExchange> exchange = windows.exchange(members);
  if (!exchange || !isTransposed)
    return exchange;
  int64_t end = exchange->first + exchange->length;
  bool areNeighbours = exchange->distance == windows.size / members &&
                       -exchange->first <= exchange->distance &&
                       end <= 2 * exchange->distance && end > 0 &&
                       exchange->first < exchange->distance;
  return areNeighbours ? exchange : std::nullopt;
}

int64_t WindowSplit::mostSent(int64_t members) const {
  std::optional<sharding::HaloExchange> exchange = this->exchange(members);
  if (!exchange || !exchange->moves())
    return 0;
  int64_t sent = exchange->map.mostSent(members);
  return isTransposed && hasExtrema ? 2 * sent : sent;
}

void WindowSplit::addTo(std::vector<int64_t> &key) const {
  key.insert(key.end(), {dim, otherDim, isOfKernel, isTransposed, hasExtrema,
                         windows.size, windows.count, windows.step,
                         windows.extent, windows.low, windows.dilation});
}

void weft::fitWindows(Operation *op) {
  if (!isa<ConvolutionOp, ReduceWindowOp, SpreadWindowsOp>(op))
    return;
  RankedTensorType operand = typeOf(op->getOperand(0)),
                   result = typeOf(op->getResult(0));
  auto highOf = [](const Windows &windows, RankedTensorType type,
                   RankedTensorType made) {
    return (made.getDimSize(windows.dim) - 1) * windows.stride +
           windows.span() - windows.low - type.getDimSize(windows.dim);
  };
  if (auto reduce = dyn_cast<ReduceWindowOp>(op))
    reduce.setHigh(highOf(windowsOf(reduce), operand, result));
  if (auto spread = dyn_cast<SpreadWindowsOp>(op))
    spread.setHigh(highOf(windowsOf(spread), result, operand));
  auto convolution = dyn_cast<ConvolutionOp>(op);
  if (!convolution)
    return;
  SmallVector<int64_t> high;
  for (int64_t i = 0; i < result.getRank() - 2; ++i) {
    int64_t covered =
        (result.getDimSize(i + 1) - 1) * convolution.getStrides()[i] +
        dilated(convolution.getRhs().getType().getDimSize(i),
                convolution.getRhsDilation()[i]);
    high.push_back(
        covered - convolution.getLow()[i] -
        dilated(operand.getDimSize(i + 1), convolution.getLhsDilation()[i]));
  }
  convolution.setHigh(high);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Batch, features of each group and groups are those of a matmul; spatial
/// dimensions are whole.
static ShardingRule ruleOfFeatures(ConvolutionOp op) {
  RankedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType(),
                   result = op.getType();
  int64_t rank = result.getRank() - 2, groups = op.getGroups(),
          inputFeatures = rhs.getDimSize(rank),
          outputFeatures = rhs.getDimSize(rank + 1);
  ShardingRule rule;
  TensorFactors of[3] = {TensorFactors(lhs.getRank()), TensorFactors(rank + 2),
                         TensorFactors(rank + 2)};
  auto &[ofLhs, ofRhs, ofResult] = of;
  ofLhs[0] = ofResult[0] = {rule.addFactor(lhs.getDimSize(0))};
  for (int64_t i = 0; i < rank; ++i) {
    ofResult[i + 1] = {
        rule.addFactor(result.getDimSize(i + 1), FactorKind::NeedReplication)};
    ofLhs[i + 1] = {
        rule.addFactor(lhs.getDimSize(i + 1), FactorKind::Permutation)};
    ofRhs[i] = {rule.addFactor(rhs.getDimSize(i), FactorKind::NeedReplication)};
  }
  // Groups are the major part of both features.
  DimFactors given, kept;
  if (groups > 1) {
    int32_t group = rule.addFactor(groups);
    given.push_back(group);
    kept.push_back(group);
  }
  int32_t contracted = rule.addFactor(inputFeatures, FactorKind::Reduction);
  if (groups == 1 || inputFeatures > 1)
    given.push_back(contracted);
  if (groups == 1 || outputFeatures > groups)
    kept.push_back(rule.addFactor(outputFeatures / groups));
  ofLhs[rank + 1] = given;
  if (op.hasGroupsApart()) {
    ofLhs[rank + 1] = {given.front()};
    ofLhs[rank + 2] = {contracted};
  }
  ofRhs[rank] = {contracted};
  ofRhs[rank + 1] = ofResult[rank + 1] = kept;
  rule.operands = {ofLhs, ofRhs};
  rule.results = {ofResult};
  return rule;
}

static int32_t factorOf(const ShardingRule &rule, const WindowSplit &split) {
  return split.isOfKernel ? rule.operands[1][split.otherDim].front()
                          : rule.results[0][split.otherDim].front();
}

/// Gives both sides of a split one factor.
static void join(ShardingRule &rule, const WindowSplit &split,
                 FactorKind kind) {
  int32_t factor = factorOf(rule, split),
          other = rule.operands[0][split.dim].front();
  for (TensorFactors &operand : rule.operands)
    for (DimFactors &dim : operand)
      if (dim == DimFactors{other})
        dim = {factor};
  rule.factors[factor].kind = kind;
  rule.factors[factor].size = std::min(split.windows.size, split.windows.count);
}

/// Where windows are elements, as in a kernel of one element, both sides have
/// one factor.
static ShardingRule joinElements(ShardingRule rule, Operation *op) {
  for (const WindowSplit &split : allSplits(op))
    if (areElements(split.windows))
      join(rule, split,
           split.isOfKernel ? FactorKind::Reduction : FactorKind::PassThrough);
  return rule;
}

/// With one factor for both sides of all splits.
static ShardingRule joinAll(ShardingRule rule, Operation *op) {
  for (const WindowSplit &split : allSplits(op))
    if (!areElements(split.windows))
      join(rule, split, FactorKind::Permutation);
  return rule;
}

/// Drops factors that no tensor has any more.
static ShardingRule withoutUnused(ShardingRule rule) {
  SmallVector<int32_t> numbers(rule.factors.size(), -1);
  SmallVector<sharding::Factor, 4> used;
  auto renumber = [&](TensorFactors &tensor) {
    for (DimFactors &dim : tensor)
      for (int32_t &factor : dim) {
        if (numbers[factor] < 0) {
          numbers[factor] = used.size();
          used.push_back(rule.factors[factor]);
        }
        factor = numbers[factor];
      }
  };
  llvm::for_each(rule.results, renumber);
  llvm::for_each(rule.operands, renumber);
  rule.factors = std::move(used);
  return rule;
}

ShardingRule ConvolutionOp::getShardingRule() {
  return withoutUnused(joinElements(ruleOfFeatures(*this), *this));
}

ShardingRule ConvolutionOp::getPropagationRule() {
  return withoutUnused(
      joinAll(joinElements(ruleOfFeatures(*this), *this), *this));
}

Linearity ConvolutionOp::getLinearity() { return Linearity::LinearInOne; }

/// Of a tensor `type`, and one with an element for each window: all dimensions
/// but that of the windows are alike.
static std::pair<TensorFactors, TensorFactors>
addDims(ShardingRule &rule, int64_t dim, RankedTensorType type,
        RankedTensorType made, FactorKind ofElements, FactorKind ofWindows) {
  TensorFactors elements, windows;
  for (int64_t size : type.getShape())
    elements.push_back({rule.addFactor(size)});
  windows = elements;
  rule.factors[elements[dim].front()].kind = ofElements;
  windows[dim] = {rule.addFactor(made.getDimSize(dim), ofWindows)};
  return {elements, windows};
}

static ShardingRule ruleOfDims(ReduceWindowOp op) {
  ShardingRule rule;
  auto [elements, windows] =
      addDims(rule, op.getDim(), op.getOperand().getType(), op.getType(),
              FactorKind::Permutation, FactorKind::NeedReplication);
  rule.operands = {elements};
  rule.results = {windows};
  return rule;
}

static ShardingRule ruleOfDims(SpreadWindowsOp op) {
  ShardingRule rule;
  auto [elements, windows] =
      addDims(rule, op.getDim(), op.getType(), op.getG().getType(),
              FactorKind::NeedReplication, FactorKind::Permutation);
  rule.operands = {windows};
  if (op.getOperand())
    rule.operands.append({elements, windows});
  rule.results = {elements};
  return rule;
}

ShardingRule ReduceWindowOp::getShardingRule() {
  return withoutUnused(joinElements(ruleOfDims(*this), *this));
}

ShardingRule ReduceWindowOp::getPropagationRule() {
  return withoutUnused(joinAll(joinElements(ruleOfDims(*this), *this), *this));
}

Linearity ReduceWindowOp::getLinearity() {
  return getKind() == Reduction::Sum ? Linearity::Linear : Linearity::NotLinear;
}

ShardingRule SpreadWindowsOp::getShardingRule() {
  return withoutUnused(joinElements(ruleOfDims(*this), *this));
}

ShardingRule SpreadWindowsOp::getPropagationRule() {
  return withoutUnused(joinAll(joinElements(ruleOfDims(*this), *this), *this));
}

/// What is added, where elements are compared with extrema.
Linearity SpreadWindowsOp::getLinearity() {
  return getOperand() ? Linearity::LinearInFirst : Linearity::Linear;
}

bool SpreadWindowsOp::isPartitioned() {
  return getG().getType().getDimSize(getDim()) > 1;
}

bool ConvolutionOp::isPartitioned() { return true; }

/// One window of all elements is a reduction, which leaves partial results of
/// shards.
bool ReduceWindowOp::isPartitioned() {
  return getType().getDimSize(getDim()) > 1;
}
