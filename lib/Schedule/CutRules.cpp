//===- CutRules.cpp - Ops computed piece by piece -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CutRules.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"
#include "weft/IR/WindowOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft {

namespace {
using CutOperands = std::optional<SmallVector<bool>>;
} // namespace

std::optional<int64_t> findCutDim(RankedTensorType type) {
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (size != 1)
      return dim;
  return std::nullopt;
}

std::optional<int64_t> cutDimOf(Value value) {
  return findCutDim(typeOf(value));
}

bool canCut(Value value, int64_t pieces) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto dim = type ? findCutDim(type) : std::nullopt;
  return dim && type.getDimSize(*dim) % pieces == 0;
}

static bool canCutResults(Operation *op, int64_t pieces) {
  return op->getNumResults() > 0 &&
         llvm::all_of(op->getResults(),
                      [&](Value result) { return canCut(result, pieces); });
}

bool canCut(Operation *op, int64_t pieces) {
  if (!canCutResults(op, pieces))
    return false;
  auto isCut = findCutOperands(op);
  return isCut && llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
           return !(*isCut)[operand.getOperandNumber()] ||
                  canCut(operand.get(), pieces);
         });
}

RankedTensorType pieceOf(RankedTensorType type, int64_t pieces) {
  SmallVector<int64_t> shape(type.getShape());
  shape[*findCutDim(type)] /= pieces;
  return type.clone(shape);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// An operand dimension must be the one along which the operand is cut.
static CutOperands whenCutAt(Value operand, int64_t dim) {
  if (cutDimOf(operand) != dim)
    return std::nullopt;
  return SmallVector<bool>{true};
}

static CutOperands rule(BroadcastOp op) {
  int64_t cut = *cutDimOf(op.getResult());
  for (auto [from, to] : llvm::enumerate(op.getDims()))
    if (to == cut && op.getOperand().getType().getDimSize(from) != 1)
      return whenCutAt(op.getOperand(), from);
  return SmallVector<bool>{false};
}

static CutOperands rule(TransposeOp op) {
  return whenCutAt(op.getOperand(), op.getDims()[*cutDimOf(op.getResult())]);
}

static CutOperands rule(ReduceOp op) {
  auto from = cutDimOf(op.getOperand());
  if (!from || llvm::is_contained(op.getDims(), *from))
    return std::nullopt;
  return SmallVector<bool>{true};
}

static CutOperands rule(SliceOp op) {
  int64_t cut = *cutDimOf(op.getResult());
  if (op.getStarts()[cut] != 0 || op.getStrides()[cut] != 1 ||
      op.getLimits()[cut] != op.getOperand().getType().getDimSize(cut))
    return std::nullopt;
  return whenCutAt(op.getOperand(), cut);
}

static CutOperands rule(PadOp op) {
  int64_t cut = *cutDimOf(op.getResult());
  if (op.isPadded(cut))
    return std::nullopt;
  return whenCutAt(op.getOperand(), cut);
}

static CutOperands rule(ConcatOp op) {
  int64_t cut = *cutDimOf(op.getResult());
  if (int64_t(op.getDim()) == cut ||
      llvm::any_of(op.getOperands(),
                   [&](Value each) { return cutDimOf(each) != cut; }))
    return std::nullopt;
  return SmallVector<bool>(op->getNumOperands(), true);
}

static CutOperands rule(IotaOp op) {
  if (int64_t(op.getDim()) == *cutDimOf(op.getResult()))
    return std::nullopt;
  return SmallVector<bool>{};
}

static CutOperands rule(DotGeneralOp op) {
  size_t cut = *cutDimOf(op.getResult());
  size_t batching = op.getLhsBatching().size();
  SmallVector<int64_t> free = op.getLhsFree();
  if (cut < batching) {
    if (cutDimOf(op.getLhs()) != op.getLhsBatching()[cut] ||
        cutDimOf(op.getRhs()) != op.getRhsBatching()[cut])
      return std::nullopt;
    return SmallVector<bool>{true, true};
  }
  if (cut - batching >= free.size() ||
      cutDimOf(op.getLhs()) != free[cut - batching])
    return std::nullopt;
  return SmallVector<bool>{true, false};
}

/// Images of a batch have windows of their own.
static CutOperands rule(ConvolutionOp op) {
  if (cutDimOf(op.getResult()) != 0 || cutDimOf(op.getLhs()) != 0)
    return std::nullopt;
  return SmallVector<bool>{true, false};
}

/// Sequences of a batch do not know of each other.
template <typename Op> static CutOperands ruleOfAttention(Op op) {
  auto isBatch = [&](Value value) { return cutDimOf(value) == 0; };
  if (op.getDiagonal() || !llvm::all_of(op->getOperands(), isBatch) ||
      !llvm::all_of(op->getResults(), isBatch))
    return std::nullopt;
  return SmallVector<bool>(op->getNumOperands(), true);
}

/// Members of a group put the same piece of what they have together. Where the
/// dimension that is cut is the one that they share, the pieces together have
/// the rows in another order than the whole.
static CutOperands ruleOfCollective(CommunicationOpInterface op) {
  auto gathered = op.getGatheredDim(), scattered = op.getScatteredDim();
  if (!gathered && !scattered && !op.isReduction())
    return std::nullopt;
  int64_t cut = *cutDimOf(op->getResult(0));
  if ((gathered == cut || scattered == cut) && !op->hasAttr(kFreeOrderAttrName))
    return std::nullopt;
  return whenCutAt(op->getOperand(0), cut);
}

static bool mapsElements(Operation *op) {
  return isa_and_present<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) &&
         OpTrait::hasElementwiseMappableTraits(op);
}

CutOperands findCutOperands(Operation *op) {
  if (!canCutResults(op, 1))
    return std::nullopt;
  if (mapsElements(op))
    return SmallVector<bool>(op->getNumOperands(), true);
  return llvm::TypeSwitch<Operation *, CutOperands>(op)
      .Case<BroadcastOp, TransposeOp, ReduceOp, SliceOp, PadOp, ConcatOp,
            IotaOp, DotGeneralOp, ConvolutionOp>(
          [](auto each) { return rule(each); })
      .Case<AttentionOp, AttentionGradOp>(
          [](auto each) { return ruleOfAttention(each); })
      .Case([](ReshapeOp) { return SmallVector<bool>{true}; })
      .Case([](BarrierOp each) {
        return SmallVector<bool>(each->getNumOperands(), true);
      })
      .Case(
          [](CommunicationOpInterface each) { return ruleOfCollective(each); })
      .Default([](Operation *) { return std::nullopt; });
}

bool isFreeToCompute(Operation *op) {
  return isView(op) || isa<BroadcastOp, IotaOp, BarrierOp, arith::ExtFOp>(op);
}

bool isSumOfRows(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce || reduce.getKind() != sharding::Reduction::Sum)
    return false;
  auto cut = cutDimOf(reduce.getOperand());
  Type element = reduce.getType().getElementType();
  return cut && llvm::is_contained(reduce.getDims(), *cut) &&
         isa<FloatType>(element);
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

Operation *createPiece(Operation *op, ValueRange operands, int64_t pieces) {
  Operation *piece = OpBuilder(op).clone(*op);
  piece->setOperands(operands);
  piece->removeAttr(kFreeOrderAttrName);
  for (OpResult result : piece->getResults())
    result.setType(pieceOf(typeOf(result), pieces));
  if (auto slice = dyn_cast<SliceOp>(piece)) {
    SmallVector<int64_t> limits(slice.getLimits());
    int64_t cut = *cutDimOf(op->getResult(0));
    limits[cut] = typeOf(slice.getOperand()).getDimSize(cut);
    slice.setLimits(limits);
  }
  return piece;
}

} // namespace weft
