//===- FuseKernels.cpp - Ops to kernels -----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveParts.h"
#include "FusionRewrites.h"
#include "OutlineKernel.h"
#include "PieceWriter.h"

#include "weft/Schedule/KernelFusion.h"
#include "weft/Schedule/Passes.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

namespace weft {
#define GEN_PASS_DEF_FUSEKERNELS
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// Ops that each kernel computes for itself instead of reading a buffer.
static bool isRematerialized(Operation *op) {
  return op && isa<arith::ConstantOp, PositionOp>(op);
}

/// Broadcasts along trailing dimensions read one number a row.
static FusionKind kindOf(BroadcastOp op) {
  auto from = typeOf(op.getOperand()), to = typeOf(op.getResult());
  for (auto [dim, target] : llvm::enumerate(op.getDims()))
    if (int64_t(dim) != target || from.getDimSize(dim) != to.getDimSize(target))
      return FusionKind::Movement;
  return FusionKind::RowBroadcast;
}

static FusionKind kindOf(TransposeOp op) {
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

static FusionKind kindOf(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return FusionKind::End;
  if (belongsToGemm(op))
    return FusionKind::Barrier;
  if (isMarkedPart(op))
    return FusionKind::Order;
  return llvm::TypeSwitch<Operation *, FusionKind>(op)
      .Case([](BroadcastOp op) { return kindOf(op); })
      .Case([](TransposeOp op) { return kindOf(op); })
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

static bool isCheap(Operation *op) {
  return isWidening(op) || isScaledFromMemory(op);
}

static bool isElementwise(Operation *op) {
  return !isRematerialized(op) && kindOf(op) == FusionKind::Elementwise;
}

/// Whether the op reads its first operand at other indices.
static bool isMove(Operation *op) {
  FusionKind kind = kindOf(op);
  return kind == FusionKind::Movement || kind == FusionKind::Transpose ||
         kind == FusionKind::Gather;
}

/// Whether the kernel of the op can be that of what moves its result.
static bool isFusedWithMoves(Operation *op) {
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

/// A copy of `op` for those of its users for which `isIn` holds.
static Operation *copyFor(Operation *op,
                          llvm::function_ref<bool(Operation *)> isIn) {
  Operation *copy = OpBuilder(op).clone(*op);
  op->getResult(0).replaceUsesWithIf(
      copy->getResult(0), [&](OpOperand &use) { return isIn(use.getOwner()); });
  return copy;
}

/// Erases the cheap ops of a group of which all users have got copies.
static void eraseUnused(SmallVectorImpl<Operation *> &group) {
  llvm::erase_if(group, [](Operation *op) {
    bool isUnused = isCheap(op) && op->use_empty();
    if (isUnused)
      op->erase();
    return isUnused;
  });
}

namespace {

struct FuseKernels : weft::impl::FuseKernelsBase<FuseKernels> {
  using FuseKernelsBase::FuseKernelsBase;

  void runOnInput() override {
    KernelLibrary library(getOperation());
    for (auto entry : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (!entry->hasAttr(WeftDialect::kKernelAttrName) && !entry.isExternal())
        // Blocks of loops first: constants that they use are no buffers then.
        entry.walk([&](Block *block) { fuse(*block, library); });
    kernels += library.size();
  }

  void fuse(Block &body, KernelLibrary &library) {
    widenScatterSums(body);
    makeCollectiveParts(body, isFusedWithMoves);
    splitConcats(body);
    duplicateCheapOps(body);
    convertAfterMoves(body, isMove);
    loosenBarriers(body, isElementwise);
    SmallVector<Operation *> ops;
    DenseMap<Operation *, unsigned> numbers;
    std::vector<FusionOp> graph;
    for (Operation &op : body) {
      if (isRematerialized(&op))
        continue;
      graph.push_back(describe(&op, numbers));
      numbers[&op] = ops.size();
      ops.push_back(&op);
    }
    std::vector<int> group = groupIntoKernels(graph);
    int count = group.empty() ? 0 : *llvm::max_element(group) + 1;
    std::vector<SmallVector<Operation *>> members(count);
    for (const KernelCopy &copy : findCheapCopies(graph, group))
      members[copy.group].push_back(
          copyFor(ops[copy.op], [&, copy](Operation *user) {
            auto found = numbers.find(user);
            return found != numbers.end() && group[found->second] == copy.group;
          }));
    for (auto [op, number] : llvm::zip_equal(ops, group))
      if (number != -1)
        members[number].push_back(op);
    for (SmallVector<Operation *> &kernel : members) {
      eraseUnused(kernel);
      if (kernel.empty())
        continue;
      fusedOps += kernel.size();
      ++launches;
      outlineKernel(kernel, library);
    }
    // A launch stands where its last op stood; ops that were between its ops
    // may use its results.
    sortTopologically(&body);
    unmarkParts(body);
    for (Operation &op : body)
      if (!isa<CommunicationOpInterface>(op))
        op.removeAttr(kPieceAttrName);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isRematerialized(&op) && op.use_empty())
        op.erase();
  }
};

} // namespace
