//===- PieceWriter.cpp - A region of a program in pieces ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PieceWriter.h"

#include "CollectiveParts.h"
#include "CutRules.h"

#include "weft/IR/NarrowFloats.h"
#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"
#include "weft/Schedule/ArenaPlanner.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft;

void weft::markPiece(Operation *op, int64_t number, int64_t pieces) {
  op->setAttr(kPieceAttrName,
              DenseI64ArrayAttr::get(op->getContext(), {number, pieces}));
}

/// Whether a block ends with the value, or with a view of it.
static bool isReturned(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>() ||
           (isView(user) && isReturned(user->getResult(0)));
  });
}

/// Whether the value may have its pieces as parts of its buffer: they begin
/// where buffers may, and it is in no place of its own, as states are, and no
/// part itself, as slices may become.
static bool canHaveParts(Value value, Block &block, int64_t pieces) {
  if (byteSize(pieceOf(typeOf(value), pieces)) % arenaAlignment != 0 ||
      isReturned(value))
    return false;
  while (isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  Operation *op = value.getDefiningOp();
  return op && op->getBlock() == &block && !isa<SliceOp>(op) &&
         !op->hasTrait<OpTrait::ConstantLike>();
}

SmallVector<Value> weft::createSlices(Value value, Block &block,
                                      int64_t pieces) {
  RankedTensorType type = typeOf(value), piece = pieceOf(type, pieces);
  int64_t dim = *findCutDim(type), size = piece.getDimSize(dim);
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()),
      strides(type.getRank(), 1);
  OriginListener listener(withoutGradient(getValueOrigin(value)));
  OpBuilder b(block.getParentOp()->getContext(), &listener);
  b.setInsertionPointToStart(&block);
  if (value.getDefiningOp() && value.getParentBlock() == &block)
    b.setInsertionPointAfterValue(value);
  const bool hasParts = canHaveParts(value, block, pieces);
  SmallVector<Value> slices;
  for (int64_t number = 0; number < pieces; ++number) {
    starts[dim] = number * size;
    limits[dim] = starts[dim] + size;
    auto slice =
        SliceOp::create(b, value.getLoc(), value, starts, limits, strides);
    if (hasParts)
      markPart(slice);
    slices.push_back(slice);
  }
  return slices;
}

namespace {

class PieceWriter {
public:
  PieceWriter(Block &block, const llvm::DenseSet<Operation *> &ops,
              int64_t pieces)
      : block(block), ops(ops), pieces(pieces) {}

  void run();

private:
  using Values = SmallVector<Value>;

  void findWholes();
  bool isNeededWhole(Operation *op) const;
  void cut(Operation *op);
  void cutSum(Operation *op);
  void mark(Operation *piece, int64_t number) const {
    markPiece(piece, number, pieces);
  }
  const Values &piecesOf(Value value);
  Values createConstants(arith::ConstantOp op, SplatElementsAttr splat) const;
  void joinPieces(Value value, Operation *before);
  void orderPieces(ArrayRef<Operation *> cutOps);

  Block &block;
  const llvm::DenseSet<Operation *> &ops;
  const int64_t pieces;
  /// Ops whose whole results something reads; of these, those that stay, as
  /// they cost nothing.
  llvm::DenseSet<Operation *> wholes, kept;
  llvm::DenseMap<Value, Values> cutValues;
};

} // namespace

bool PieceWriter::isNeededWhole(Operation *op) const {
  return llvm::any_of(op->getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return !ops.contains(user) || kept.contains(user) ||
           (!isSumOfRows(user) &&
            !(*findCutOperands(user))[use.getOperandNumber()]);
  });
}

void PieceWriter::findWholes() {
  for (Operation &op : llvm::reverse(block)) {
    if (!ops.contains(&op) || isSumOfRows(&op) || !isNeededWhole(&op))
      continue;
    wholes.insert(&op);
    if (isFreeToCompute(&op))
      kept.insert(&op);
  }
}

PieceWriter::Values
PieceWriter::createConstants(arith::ConstantOp op,
                             SplatElementsAttr splat) const {
  RankedTensorType type = pieceOf(typeOf(op.getResult()), pieces);
  OpBuilder b(op);
  Value piece = arith::ConstantOp::create(
      b, op.getLoc(),
      DenseElementsAttr::get(type, splat.getSplatValue<Attribute>()));
  return Values(pieces, piece);
}

const PieceWriter::Values &PieceWriter::piecesOf(Value value) {
  auto found = cutValues.find(value);
  if (found != cutValues.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  SplatElementsAttr splat;
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op))
    splat = dyn_cast<SplatElementsAttr>(constant.getValue());
  if (splat) {
    auto made = createConstants(cast<arith::ConstantOp>(op), splat);
    return cutValues[value] = std::move(made);
  }
  // What a kernel computes while it reads is not stored to be read in pieces.
  if (op && op->getBlock() == &block && isFreeToCompute(op) &&
      canCut(op, pieces)) {
    cut(op);
    return cutValues[value];
  }
  auto slices = createSlices(value, block, pieces);
  return cutValues[value] = std::move(slices);
}

/// Adds the sums of the pieces, in f32 at least, and rounds only the whole sum.
void PieceWriter::cutSum(Operation *op) {
  auto reduce = cast<ReduceOp>(op);
  Values operands = piecesOf(reduce.getOperand());
  OriginListener listener(getOrigin(op));
  OpBuilder b(op, &listener);
  Location loc = op->getLoc();
  const bool isNarrow = isNarrowFloat(reduce.getType().getElementType());
  auto widen = [&](Value piece) -> Value {
    if (!isNarrow)
      return piece;
    return arith::ExtFOp::create(b, loc, typeOf(piece).clone(b.getF32Type()),
                                 piece);
  };
  Values terms;
  for (auto [number, piece] : llvm::enumerate(operands)) {
    Value wide = widen(piece);
    Operation *term =
        ReduceOp::create(b, loc, reduce.getKind(), wide, reduce.getDims());
    mark(term, number);
    if (wide != piece)
      mark(wide.getDefiningOp(), number);
    terms.push_back(term->getResult(0));
  }
  Value sum = terms.front();
  for (Value term : ArrayRef(terms).drop_front())
    sum = arith::AddFOp::create(b, loc, sum, term);
  if (isNarrow)
    sum = arith::TruncFOp::create(b, loc, reduce.getType(), sum);
  op->getResult(0).replaceAllUsesWith(sum);
  cutValues[op->getResult(0)] = std::move(terms);
}

void PieceWriter::cut(Operation *op) {
  SmallVector<bool> isCut = *findCutOperands(op);
  SmallVector<Values> operands(pieces);
  for (OpOperand &operand : op->getOpOperands())
    for (int64_t number = 0; number < pieces; ++number)
      operands[number].push_back(isCut[operand.getOperandNumber()]
                                     ? piecesOf(operand.get())[number]
                                     : operand.get());
  SmallVector<Operation *> made;
  for (int64_t number = 0; number < pieces; ++number) {
    made.push_back(createPiece(op, operands[number], pieces));
    mark(made.back(), number);
  }
  for (OpResult result : op->getResults()) {
    Values &values = cutValues[result];
    for (Operation *piece : made)
      values.push_back(piece->getResult(result.getResultNumber()));
  }
}

void PieceWriter::joinPieces(Value value, Operation *before) {
  RankedTensorType type = typeOf(value);
  OriginListener listener(getValueOrigin(value));
  OpBuilder b(before, &listener);
  auto concat = ConcatOp::create(b, value.getLoc(), cutValues.at(value),
                                 *findCutDim(type));
  if (canHaveParts(value, block, pieces))
    markPart(concat);
  value.replaceAllUsesWith(concat);
}

/// From one collective to the next, all that is done for one piece comes before
/// what is done for the next one.
void PieceWriter::orderPieces(ArrayRef<Operation *> cutOps) {
  SmallVector<SmallVector<Operation *>> since(pieces);
  for (Operation *op : cutOps) {
    for (auto [number, piece] : llvm::enumerate(cutValues[op->getResult(0)]))
      since[number].push_back(piece.getDefiningOp());
    if (!isa<CommunicationOpInterface>(op))
      continue;
    for (SmallVector<Operation *> &each : since) {
      for (Operation *piece : each)
        piece->moveBefore(op);
      each.clear();
    }
  }
}

void PieceWriter::run() {
  findWholes();
  SmallVector<Operation *> cutOps, replaced;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!ops.contains(&op))
      continue;
    if (isSumOfRows(&op))
      cutSum(&op);
    else if (!cutValues.contains(op.getResult(0)))
      cut(&op);
    cutOps.push_back(&op);
    if (!kept.contains(&op))
      replaced.push_back(&op);
  }
  orderPieces(cutOps);
  for (Operation *op : replaced)
    if (wholes.contains(op))
      for (Value result : op->getResults())
        if (!result.use_empty())
          joinPieces(result, op);
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
  sortTopologically(&block);
}

void weft::writeInPieces(Block &block, const llvm::DenseSet<Operation *> &ops,
                         int64_t pieces) {
  PieceWriter(block, ops, pieces).run();
}
