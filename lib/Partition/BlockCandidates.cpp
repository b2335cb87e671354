//===- BlockCandidates.cpp - What can be in block order -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockCandidates.h"

#include "ElementMoves.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <numeric>

using namespace mlir;
using namespace weft;
using sharding::AxisList;
using sharding::ElementMap;

/// A map lists the blocks of all parts: with more, elements are exchanged where
/// they are sliced.
static constexpr int64_t maxBlocks = 256;

//===----------------------------------------------------------------------===//
// Dimensions of operands and results
//===----------------------------------------------------------------------===//

std::optional<std::pair<unsigned, int64_t>>
weft::freeOperandDim(DotGeneralOp op, int64_t dim) {
  SmallVector<int64_t> lhs = op.getLhsFree(), rhs = op.getRhsFree();
  dim -= static_cast<int64_t>(op.getLhsBatching().size());
  if (dim < 0)
    return std::nullopt;
  if (dim < static_cast<int64_t>(lhs.size()))
    return std::pair(0U, lhs[dim]);
  return std::pair(1U, rhs[dim - lhs.size()]);
}

int64_t weft::resultDimOf(DotGeneralOp op, unsigned operand, int64_t dim) {
  for (int64_t result = 0; result < op.getType().getRank(); ++result)
    if (freeOperandDim(op, result) == std::pair(operand, dim))
      return result;
  return -1;
}

int64_t weft::contractedWith(DotGeneralOp op, unsigned operand, int64_t dim) {
  ArrayRef<int64_t> own = op.getLhsContracting(),
                    other = op.getRhsContracting();
  if (operand == 1)
    std::swap(own, other);
  const auto *found = llvm::find(own, dim);
  return found == own.end() ? -1 : other[found - own.begin()];
}

std::optional<int64_t> weft::operandDim(BroadcastOp op, int64_t dim) {
  const auto *found = llvm::find(op.getDims(), dim);
  if (found == op.getDims().end())
    return std::nullopt;
  const int64_t from = found - op.getDims().begin();
  return typeOf(op.getOperand()).getDimSize(from) == 1 ? std::nullopt
                                                       : std::optional(from);
}

bool weft::computesByElement(Operation *op) {
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         op->getNumResults() == 1 && op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return typeOf(operand).getShape() ==
                  typeOf(op->getResult(0)).getShape();
         });
}

/// Whether the value is the only operand that differs from element to element.
static bool computesByElementOf(Operation *op, Value value) {
  return computesByElement(op) && llvm::count(op->getOperands(), value) == 1 &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return operand == value || isSplat(operand);
         });
}

//===----------------------------------------------------------------------===//
// What can be in block order
//===----------------------------------------------------------------------===//

AxisList weft::axesOf(ValueDim cut, const sharding::Mesh &mesh) {
  auto [value, dim] = cut;
  ShardingAttr attr = getSharding(value);
  if (!attr)
    return {};
  FailureOr<sharding::Sharding> sharding = attr.toSharding(mesh);
  return succeeded(sharding) ? sharding->dims[dim].axes : AxisList();
}

ElementMap weft::mapOfSlices(const std::vector<int64_t> &parts) {
  const int64_t size = std::accumulate(parts.begin(), parts.end(), int64_t(0));
  return {{size}, parts, {{0, 0, size}}};
}

/// A block for each shard, if axes split the dimension and slices that are
/// split alike have elements on other devices.
static std::optional<BlockOrder> orderOf(ValueDim whole,
                                         std::vector<int64_t> parts,
                                         const sharding::Mesh &mesh) {
  const int64_t shards = sharding::numShards(axesOf(whole, mesh));
  const ElementMap map = mapOfSlices(parts);
  if (shards == 1 || parts.size() < 2 || !map.isDivisibleBy(shards) ||
      static_cast<int64_t>(parts.size()) * shards > maxBlocks ||
      map.dividedBy(shards).mostSent(shards) == 0)
    return std::nullopt;
  return BlockOrder{std::move(parts), shards};
}

/// Sizes of slices of a dimension, and of what is between them; none if two
/// have common elements.
static std::vector<int64_t> partsOf(ArrayRef<SliceOp> slices, int64_t dim,
                                    int64_t size) {
  SmallVector<std::pair<int64_t, int64_t>> taken;
  for (SliceOp slice : slices)
    taken.push_back({slice.getStarts()[dim], slice.getLimits()[dim]});
  llvm::sort(taken);
  std::vector<int64_t> parts;
  int64_t end = 0;
  for (auto [start, limit] : taken) {
    if (start < end)
      return {};
    if (start > end)
      parts.push_back(start - end);
    parts.push_back(limit - start);
    end = limit;
  }
  if (end < size)
    parts.push_back(size - end);
  return parts;
}

/// Adds what the dimension is made of.
static void findSources(ValueDim cut, BlockCandidate &found) {
  auto [value, dim] = cut;
  Operation *op = value.getDefiningOp();
  if (isSplat(value))
    return;
  if (auto matmul = dyn_cast_or_null<DotGeneralOp>(op))
    if (auto operand = freeOperandDim(matmul, dim)) {
      found.sources.insert(
          {matmul->getOperand(operand->first), operand->second});
      found.matmuls.push_back(matmul);
      return;
    }
  if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op)) {
    if (auto from = operandDim(broadcast, dim))
      found.sources.insert({broadcast.getOperand(), *from});
    return;
  }
  if (op && computesByElement(op)) {
    for (Value operand : op->getOperands())
      if (operand.hasOneUse())
        findSources({operand, dim}, found);
      else if (!isSplat(operand))
        found.sources.insert({operand, dim});
    return;
  }
  found.sources.insert(cut);
}

std::optional<BlockCandidate> weft::findSliced(Value value,
                                               const sharding::Mesh &mesh) {
  BlockCandidate sliced;
  int64_t dim = -1;
  for (Operation *user : value.getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    auto move = slice ? findSlice(slice, typeOf(value)) : std::nullopt;
    if (!move || (dim >= 0 && dim != move->dim) ||
        move->map.runs.front().step != 1)
      return std::nullopt;
    dim = move->dim;
    sliced.slices.push_back(slice);
  }
  if (dim < 0)
    return std::nullopt;
  llvm::sort(sliced.slices,
             [](SliceOp a, SliceOp b) { return a->isBeforeInBlock(b); });
  sliced.whole = {value, dim};
  auto order =
      orderOf(sliced.whole,
              partsOf(sliced.slices, dim, typeOf(value).getDimSize(dim)), mesh);
  if (!order)
    return std::nullopt;
  sliced.order = std::move(*order);
  findSources(sliced.whole, sliced);
  return sliced;
}

/// Whether all that is made of the value can be made of it in another order.
static bool findUses(ValueDim joined, BlockCandidate &found) {
  auto [value, dim] = joined;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto matmul = dyn_cast<DotGeneralOp>(user)) {
      const unsigned number = use.getOperandNumber();
      const int64_t contracted = contractedWith(matmul, number, dim);
      const int64_t result = resultDimOf(matmul, number, dim);
      if (matmul.getLhs() == matmul.getRhs() || (contracted < 0 && result < 0))
        return false;
      if (contracted >= 0) {
        found.sources.insert({matmul->getOperand(1 - number), contracted});
        found.matmuls.push_back(matmul);
      } else {
        found.sums.insert(sumOf({matmul.getResult(), result}));
      }
    } else if (auto reduce = dyn_cast<ReduceOp>(user)) {
      if (llvm::is_contained(reduce.getDims(), dim))
        return false;
      found.sums.insert(sumOf({reduce.getResult(), keptDim(reduce, dim)}));
    } else if (!computesByElementOf(user, value) ||
               !findUses({user->getResult(0), dim}, found)) {
      return false;
    }
  }
  return true;
}

std::optional<BlockCandidate> weft::findJoined(ConcatOp op,
                                               const sharding::Mesh &mesh) {
  BlockCandidate joined;
  const auto dim = static_cast<int64_t>(op.getDim());
  joined.whole = {op.getResult(), dim};
  std::vector<int64_t> parts;
  for (Value operand : op.getOperands())
    parts.push_back(typeOf(operand).getDimSize(dim));
  auto order = orderOf(joined.whole, std::move(parts), mesh);
  if (!order || op.use_empty())
    return std::nullopt;
  joined.order = std::move(*order);
  return findUses(joined.whole, joined) ? std::optional(std::move(joined))
                                        : std::nullopt;
}
