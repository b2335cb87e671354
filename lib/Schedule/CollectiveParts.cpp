//===- CollectiveParts.cpp - The parts of a combined collective -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveParts.h"

#include "weft/IR/BufferParts.h"
#include "weft/IR/InstructionOpInterface.h"
#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"
#include "weft/Schedule/ArenaPlanner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;

/// Only while kernels are made.
static constexpr StringLiteral markName = "weft.part";

bool weft::isMarkedPart(Operation *op) { return op->hasAttr(markName); }

void weft::markPart(Operation *op) {
  op->setAttr(markName, UnitAttr::get(op->getContext()));
}

void weft::unmarkParts(Block &body) {
  for (Operation &op : body)
    op.removeAttr(markName);
}

namespace {

/// The pieces of the concat that a collective sends.
class OperandParts {
public:
  OperandParts(Operation *collective, ConcatOp concat,
               llvm::function_ref<bool(Operation *)> isFused,
               llvm::DenseSet<Value> &taken)
      : collective(collective), concat(concat), isFused(isFused), taken(taken) {
  }

  void run();

private:
  bool canBePart(Value piece);
  std::optional<SmallVector<std::pair<SliceOp, size_t>>> findSlices();
  void reorder(ArrayRef<size_t> order);

  Operation *collective;
  ConcatOp concat;
  llvm::function_ref<bool(Operation *)> isFused;
  /// What is a part of a collective already.
  llvm::DenseSet<Value> &taken;
};

} // namespace

static bool isAligned(Value value) {
  return bytesOf(value) % arenaAlignment == 0;
}

/// Whether the piece has a buffer that an instruction of the block writes for
/// no other collective. What is small, and made for the concat alone, is
/// written by one kernel with others.
bool OperandParts::canBePart(Value piece) {
  constexpr int64_t fractionThatCounts = 64;
  const bool isSmall =
      bytesOf(piece) * fractionThatCounts < bytesOf(concat.getResult());
  while (auto view = piece.getDefiningOp<ReshapeOp>())
    piece = view.getOperand();
  Operation *producer = piece.getDefiningOp();
  if (!producer || producer->getBlock() != concat->getBlock() ||
      isa<arith::ConstantOp>(producer) || isView(producer) ||
      isMarkedPart(producer) || isa<CommunicationOpInterface>(producer) ||
      (isSmall && isFused(producer) && producer->hasOneUse()))
    return false;
  return taken.insert(piece).second;
}

/// The slices of the collective's result with the number of the piece that each
/// is of; nothing if the result is used otherwise.
std::optional<SmallVector<std::pair<SliceOp, size_t>>>
OperandParts::findSlices() {
  SmallVector<std::pair<SliceOp, size_t>> slices;
  int64_t dim = typeOf(collective->getResult(0)).getRank() - 1;
  for (OpOperand &use : collective->getResult(0).getUses()) {
    if (isOnlyWaitedFor(use))
      continue;
    auto slice = dyn_cast<SliceOp>(use.getOwner());
    if (!slice)
      return std::nullopt;
    int64_t begin = 0;
    size_t piece = 0;
    for (; piece < concat.getOperands().size(); ++piece) {
      int64_t size = typeOf(concat.getOperand(piece)).getDimSize(dim);
      if (slice.getStarts()[dim] >= begin &&
          slice.getLimits()[dim] <= begin + size)
        break;
      begin += size;
    }
    if (piece == concat.getOperands().size())
      return std::nullopt;
    slices.push_back({slice, piece});
  }
  return slices;
}

/// Puts the pieces in another order, and with them the slices.
void OperandParts::reorder(ArrayRef<size_t> order) {
  int64_t dim = concat.getDim();
  auto slices = *findSlices();
  SmallVector<int64_t> moves(order.size());
  int64_t before = 0;
  for (auto [number, piece] : llvm::enumerate(concat.getOperands())) {
    moves[number] = -before;
    before += typeOf(piece).getDimSize(dim);
  }
  SmallVector<Value> pieces;
  before = 0;
  for (size_t number : order) {
    pieces.push_back(concat.getOperand(number));
    moves[number] += before;
    before += typeOf(pieces.back()).getDimSize(dim);
  }
  concat->setOperands(pieces);
  for (auto [slice, piece] : slices) {
    SmallVector<int64_t> starts(slice.getStarts()), limits(slice.getLimits());
    starts[dim] += moves[piece];
    limits[dim] += moves[piece];
    slice.setStarts(starts);
    slice.setLimits(limits);
  }
}

void OperandParts::run() {
  int64_t dim = concat.getDim();
  // What an all-gather gives has one dimension more before.
  if (dim != concat.getType().getRank() - 1 || !findParts(concat) ||
      !findSlices())
    return;
  SmallVector<size_t> order, rest, last;
  for (auto [number, piece] : llvm::enumerate(concat.getOperands())) {
    bool isPart = isAligned(piece) && canBePart(piece);
    (isPart ? order : isAligned(piece) ? rest : last).push_back(number);
  }
  size_t parts = order.size();
  if (parts == 0)
    return;
  llvm::append_range(rest, last);
  llvm::append_range(order, rest);
  reorder(order);
  markPart(concat);
  if (rest.size() < 2)
    return;
  OriginListener listener(getOrigin(concat));
  OpBuilder b(concat, &listener);
  SmallVector<Value> pieces(concat.getOperands());
  Value together = ConcatOp::create(b, concat.getLoc(),
                                    ValueRange(pieces).drop_front(parts), dim);
  pieces.truncate(parts);
  pieces.push_back(together);
  concat->setOperands(pieces);
}

/// Slices of a collective's result are read where they are, if they are most of
/// it: each holds all of it in memory.
static void markSlices(Operation *collective) {
  SmallVector<SliceOp> slices;
  int64_t bytes = 0;
  for (OpOperand &use : collective->getResult(0).getUses()) {
    if (isOnlyWaitedFor(use))
      continue;
    auto slice = dyn_cast<SliceOp>(use.getOwner());
    if (!slice || slice->getBlock() != collective->getBlock())
      return;
    bytes += bytesOf(slice.getResult());
    auto parts = findParts(slice);
    if (parts && parts->front().offset % arenaAlignment == 0)
      slices.push_back(slice);
  }
  if (2 * bytes >= bytesOf(collective->getResult(0)))
    llvm::for_each(slices, [](SliceOp slice) { markPart(slice); });
}

void weft::makeCollectiveParts(Block &body,
                               llvm::function_ref<bool(Operation *)> isFused) {
  llvm::DenseSet<Value> taken;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto collective = dyn_cast<CommunicationOpInterface>(op);
    if (!collective || !collective.canCombine())
      continue;
    auto concat = op.getOperand(0).getDefiningOp<ConcatOp>();
    if (concat && concat->hasOneUse() && concat->getBlock() == &body &&
        !isMarkedPart(concat) && !collective.getScatteredDim())
      OperandParts(&op, concat, isFused, taken).run();
    if (!collective.getGatheredDim())
      markSlices(&op);
  }
}
