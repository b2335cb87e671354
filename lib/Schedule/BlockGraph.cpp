//===- BlockGraph.cpp - Ops as nodes  that kernels are made of -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockGraph.h"

#include "CollectiveParts.h"
#include "FusionRewrites.h"
#include "PieceWriter.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;

/// Ops that each kernel computes for itself instead of reading a buffer.
bool weft::isRematerialized(Operation *op) {
  return op && isa<arith::ConstantOp, PositionOp>(op);
}

/// Broadcasts along trailing dimensions read one number a row.
static FusionKind kindOfBroadcast(BroadcastOp op) {
  auto from = typeOf(op.getOperand()), to = typeOf(op.getResult());
  for (auto [dim, target] : llvm::enumerate(op.getDims()))
    if (int64_t(dim) != target || from.getDimSize(dim) != to.getDimSize(target))
      return FusionKind::Movement;
  return FusionKind::RowBroadcast;
}

static FusionKind kindOfTranspose(TransposeOp op) {
  int64_t rank = op.getDims().size();
  return rank > 0 && op.getDims().back() != rank - 1 ? FusionKind::Transpose
                                                     : FusionKind::Movement;
}

/// Transposes that only a dot_general needs are strides of that GEMM.
static bool belongsToGemm(Operation *op) {
  return isa<TransposeOp, ReshapeOp>(op) && !op->use_empty() &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<DotGeneralOp>(user) || belongsToGemm(user);
         });
}

FusionKind weft::kindOf(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return FusionKind::End;
  if (belongsToGemm(op))
    return FusionKind::Barrier;
  if (isMarkedPart(op))
    return FusionKind::Order;
  return llvm::TypeSwitch<Operation *, FusionKind>(op)
      .Case([](BroadcastOp op) { return kindOfBroadcast(op); })
      .Case([](TransposeOp op) { return kindOfTranspose(op); })
      .Case([](ReduceOp) { return FusionKind::Reduction; })
      .Case([](ReshapeOp) { return FusionKind::Reshape; })
      .Case<SliceOp, PadOp, ConcatOp, AllSliceOp>(
          [](Operation *) { return FusionKind::Movement; })
      .Case([](GatherOp) { return FusionKind::Gather; })
      .Case([](ScatterAddOp) { return FusionKind::ScatterAdd; })
      .Case([](BarrierOp) { return FusionKind::Order; })
      .Case([](IotaOp) { return FusionKind::Elementwise; })
      .Default([](Operation *op) {
        return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
                       OpTrait::hasElementwiseMappableTraits(op)
                   ? FusionKind::Elementwise
                   : FusionKind::Barrier;
      });
}

/// Whether the op scales, or moves by a constant, what lies in memory.
static bool isScaledFromMemory(Operation *op) {
  if (!isa_and_present<arith::MulFOp, arith::DivFOp, arith::AddFOp,
                       arith::SubFOp>(op) ||
      !isRematerialized(op->getOperand(1).getDefiningOp()))
    return false;
  Operation *scaled = op->getOperand(0).getDefiningOp();
  return !scaled ||
         (!isRematerialized(scaled) && kindOf(scaled) == FusionKind::Barrier);
}

bool weft::isCheap(Operation *op) {
  return isWidening(op) || isScaledFromMemory(op);
}

bool weft::isElementwise(Operation *op) {
  return !isRematerialized(op) && kindOf(op) == FusionKind::Elementwise;
}

/// Whether the op reads its first operand at other indices.
bool weft::isMove(Operation *op) {
  FusionKind kind = kindOf(op);
  return kind == FusionKind::Movement || kind == FusionKind::Transpose ||
         kind == FusionKind::Gather;
}

/// Whether the kernel of the op can be that of what moves its result.
bool weft::isFusedWithMoves(Operation *op) {
  return !isRematerialized(op) &&
         (kindOf(op) == FusionKind::Elementwise ||
          kindOf(op) == FusionKind::RowBroadcast || isMove(op));
}

static FusionOp describe(Operation *op,
                         const DenseMap<Operation *, unsigned> &numbers) {
  FusionOp result;
  result.kind = kindOf(op);
  result.isCollective = isa<CommunicationOpInterface>(op);
  result.isCheap = isCheap(op);
  // What is used in a loop is an operand of the loop.
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && numbers.contains(producer))
        result.operands.push_back(numbers.lookup(producer));
  });
  // Several results of an element-wise op have one shape.
  if ((op->getNumResults() == 1 || result.kind == FusionKind::Elementwise) &&
      isa<RankedTensorType>(op->getResult(0).getType()))
    result.shape.assign(typeOf(op->getResult(0)).getShape());
  for (Value value : op->getResults())
    result.bytes += bytesOf(value);
  if (isa<ReduceOp, ReshapeOp>(op))
    result.operandShape.assign(typeOf(op->getOperand(0)).getShape());
  if (isa<ConcatOp>(op))
    result.pieces = op->getNumOperands();
  if (auto piece = op->getAttrOfType<DenseI64ArrayAttr>(kPieceAttrName))
    result.piece = piece[0];
  if (auto reduce = dyn_cast<ReduceOp>(op))
    llvm::append_range(result.reducedDims, reduce.getDims());
  if (auto gather = dyn_cast<GatherOp>(op))
    if (Operation *producer = gather.getIndices().getDefiningOp();
        producer && numbers.contains(producer))
      result.indices = numbers.lookup(producer);
  return result;
}

BlockGraph::BlockGraph(Block &block) {
  nodes.reserve(block.getOperations().size());
  for (Operation &op : block) {
    if (isRematerialized(&op))
      continue;
    nodes.push_back(describe(&op, numbers));
    numbers[&op] = ops.size();
    ops.push_back(&op);
  }
}
