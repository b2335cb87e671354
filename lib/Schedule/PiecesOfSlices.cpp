//===- PiecesOfSlices.cpp - Slices computed from slices -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PiecesOfSlices.h"

#include "BlockGraph.h"
#include "CollectiveParts.h"
#include "CutRules.h"
#include "FusionRewrites.h"
#include "PieceWriter.h"

#include "weft/IR/InstructionOpInterface.h"
#include "weft/IR/Origin.h"
#include "weft/IR/SourceLocation.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>

using namespace mlir;
using namespace weft;

namespace {

/// One of several equal ranges of rows.
struct Piece {
  int64_t number = 0, pieces = 0;
};

class PiecesOfSlices {
public:
  explicit PiecesOfSlices(Block &block) : block(block) {}

  /// How many ops were made.
  int64_t run();

private:
  /// By value and number of pieces. Some may be missing.
  using Pieces = std::map<std::pair<const void *, int64_t>, SmallVector<Value>>;

  void findSlices();
  bool isNeededWhole(Value value) const;
  bool isComputed(Value value, int64_t pieces) const;
  Value &pieceIn(Pieces &all, Value value, Piece piece);
  Value slice(Value value, Piece piece);
  Value compute(Value value, Piece piece);
  Value makePiece(Operation *op, Piece piece);
  void finish();

  Block &block;
  SmallVector<std::pair<SliceOp, Piece>> found;
  /// The bytes of the largest value that has slices.
  int64_t largest = 0;
  Pieces slices, computed;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> copies;
};

} // namespace

/// Which piece of its operand a part of a buffer is.
static std::optional<Piece> findPiece(SliceOp slice) {
  RankedTensorType whole = slice.getOperand().getType();
  auto dim = findCutDim(whole);
  if (!dim || !isMarkedPart(slice))
    return std::nullopt;
  for (auto [index, size] : llvm::enumerate(slice.getType().getShape()))
    if (int64_t(index) != *dim && size != whole.getDimSize(index))
      return std::nullopt;
  const int64_t size = slice.getType().getDimSize(*dim),
                start = slice.getStarts()[*dim];
  if (slice.getStrides()[*dim] != 1 || whole.getDimSize(*dim) % size != 0 ||
      start % size != 0)
    return std::nullopt;
  return Piece{start / size, whole.getDimSize(*dim) / size};
}

/// Whether its kernel costs a reader of the result only arithmetic.
static bool isComputedByReaders(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return false;
  switch (kindOf(op)) {
  case FusionKind::Elementwise:
  case FusionKind::RowBroadcast:
  case FusionKind::Reshape:
    return true;
  default:
    return isa<BroadcastOp>(op);
  }
}

/// Whether a GEMM, a collective or what follows the block reads all of a value,
/// or a view of all of it.
bool PiecesOfSlices::isNeededWhole(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    user = block.findAncestorOpInBlock(*user);
    if (!user || kindOf(user) == FusionKind::Barrier ||
        kindOf(user) == FusionKind::End)
      return true;
    return isView(user) && !isa<SliceOp>(user) &&
           isNeededWhole(user->getResult(0));
  });
}

/// Whether to compute the pieces of a value. Sums and statistics of rows are
/// small, and computed in pieces they split kernels of norms.
bool PiecesOfSlices::isComputed(Value value, int64_t pieces) const {
  constexpr int64_t fractionThatCounts = 64;
  Operation *op = value.getDefiningOp();
  return op && op->getBlock() == &block && isComputedByReaders(op) &&
         bytesOf(value) >= largest / fractionThatCounts && canCut(op, pieces) &&
         !isNeededWhole(value);
}

Value &PiecesOfSlices::pieceIn(Pieces &all, Value value, Piece piece) {
  auto &pieces = all[{value.getAsOpaquePointer(), piece.pieces}];
  pieces.resize(piece.pieces);
  return pieces[piece.number];
}

/// What a whole is put together of, if that is so many pieces.
static ValueRange findJoined(Value value, int64_t pieces) {
  auto concat = value.getDefiningOp<ConcatOp>();
  if (!concat || !isMarkedPart(concat) ||
      int64_t(concat.getOperands().size()) != pieces ||
      int64_t(concat.getDim()) != findCutDim(concat.getType()) ||
      !llvm::all_equal(concat.getOperandTypes()))
    return {};
  return concat.getOperands();
}

Value PiecesOfSlices::slice(Value value, Piece piece) {
  if (ValueRange joined = findJoined(value, piece.pieces); !joined.empty())
    return joined[piece.number];
  if (!pieceIn(slices, value, piece))
    // Those that there are stay, and their twins are dead.
    for (auto [number, made] :
         llvm::enumerate(createSlices(value, block, piece.pieces)))
      if (Value &known =
              pieceIn(slices, value, {int64_t(number), piece.pieces});
          !known)
        known = made;
  return pieceIn(slices, value, piece);
}

Value PiecesOfSlices::makePiece(Operation *op, Piece piece) {
  SmallVector<bool> isCut = *findCutOperands(op);
  SmallVector<Value> operands(op->getOperands());
  for (auto [index, operand] : llvm::enumerate(operands))
    if (isCut[index])
      operand = compute(operand, piece);
  Operation *made = createPiece(op, operands, piece.pieces);
  markPiece(made, piece.number, piece.pieces);
  copies[op].push_back(made);
  return made->getResult(0);
}

Value PiecesOfSlices::compute(Value value, Piece piece) {
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op))
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue())) {
      OpBuilder b(constant);
      return arith::ConstantOp::create(
          b, constant.getLoc(),
          splat.resizeSplat(pieceOf(typeOf(value), piece.pieces)));
    }
  if (!isComputed(value, piece.pieces))
    return slice(value, piece);
  if (Value known = pieceIn(computed, value, piece))
    return known;
  Value made = makePiece(op, piece);
  return pieceIn(computed, value, piece) = made;
}

void PiecesOfSlices::findSlices() {
  for (auto slice : block.getOps<SliceOp>())
    if (auto piece = findPiece(slice)) {
      found.push_back({slice, *piece});
      pieceIn(slices, slice.getOperand(), *piece) = slice;
      largest = std::max(largest, bytesOf(slice.getOperand()));
    }
}

/// Erases what nothing needs whole any more. The pieces of what stays are
/// recomputed.
void PiecesOfSlices::finish() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    auto pieces = copies.find(&op);
    if (isOpTriviallyDead(&op)) {
      op.erase();
      continue;
    }
    if (pieces != copies.end())
      for (Operation *piece : pieces->second) {
        setOrigin(piece, withRecomputed(getOrigin(&op), op.getContext()));
        piece->setLoc(derivedFrom(op.getLoc(), kRecomputationOf));
      }
  }
}

int64_t PiecesOfSlices::run() {
  findSlices();
  for (auto [slice, piece] : found)
    if (isComputed(slice.getOperand(), piece.pieces))
      slice.getResult().replaceAllUsesWith(compute(slice.getOperand(), piece));
  if (copies.empty())
    return 0;
  int64_t made = 0;
  for (const auto &[op, pieces] : copies)
    made += int64_t(pieces.size());
  // While pieces stand in front of the whole: those that nothing reads are
  // erased behind it.
  finish();
  // The slices that they read may stand behind them.
  sortBehindOperands(block);
  return made;
}

int64_t weft::computePiecesOfSlices(Block &block) {
  return PiecesOfSlices(block).run();
}
