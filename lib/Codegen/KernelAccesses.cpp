//===- KernelAccesses.cpp - What a kernel reads and writes where ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks what the element emitter would compute, in the order of the loops, and
// no further than it would: not behind what an earlier pass has reduced or
// kept.
//
//===----------------------------------------------------------------------===//

#include "KernelAccesses.h"
#include "ElementIndex.h"
#include "KernelBody.h"

#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace weft;

namespace {

class AccessFinder {
public:
  AccessFinder(func::FuncOp kernel, NestOrder order, KernelAccesses &accesses)
      : buffers(countBufferArguments(kernel)), order(order),
        accesses(accesses) {}

  void find(const KernelNest &nest, unsigned number);

private:
  using Point = ArrayRef<ElementIndex>;

  void findRow();
  void findFinished();
  void enterLoop(const ColumnLoop &loop);
  void findAll(Operation *op);
  ElementPoint pointAt(ArrayRef<int64_t> sizes) const;
  void read(Value tensor, Point index);
  void readArgument(BlockArgument argument, const ElementIndex &offset);
  void readReshape(Operation *op, Point index);
  void readSlice(tensor::ExtractSliceOp op, Point index);
  void readConcat(tensor::ConcatOp op, Point index);
  void readElement(OpResult result, Point index);
  void readReduction(OpResult result, Point index);
  void readRegion(linalg::GenericOp generic, Point point);
  void readScalar(Value value);

  const unsigned buffers;
  const NestOrder order;
  KernelAccesses &accesses;
  const KernelNest *nest = nullptr;
  AccessTime time;
  /// Those of the loops; unknown where they are at no element.
  ElementIndex row, column, ownElement;
  /// Values that passes before this one have kept, and that it keeps.
  llvm::DenseSet<Value> filled, filling;
  /// The sum over rows that is complete.
  Operation *complete = nullptr;
  /// In a piece of a concat, which not all columns come by.
  bool isInPiece = false;
  /// What the current loop has read.
  llvm::DenseMap<Value, SmallVector<ElementPoint, 1>> seen;
};

} // namespace

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

ElementPoint AccessFinder::pointAt(ArrayRef<int64_t> sizes) const {
  unsigned split = *splitShape(sizes, nest->rows, time.columns);
  ElementPoint point = delinearise(row, sizes.take_front(split));
  llvm::append_range(point, delinearise(column, sizes.drop_front(split)));
  return point;
}

void AccessFinder::enterLoop(const ColumnLoop &loop) {
  time.columns = loop.columns;
  row = ElementIndex::digit(loop.columns, nest->rows);
  column = ElementIndex::digit(1, loop.columns);
  ownElement = row * loop.columns + column;
  seen.clear();
}

/// Everything that `op` reads, of which element is not known.
void AccessFinder::findAll(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      read(operand, ElementPoint(shapeOf(operand).size()));
}

void AccessFinder::findRow() {
  for (auto [number, pass] : llvm::enumerate(nest->passes)) {
    time.pass = number;
    for (const ColumnLoop &loop : pass) {
      enterLoop(loop);
      for (linalg::GenericOp reduction : loop.reductions) {
        for (Value init : reduction.getDpsInits())
          read(init, ElementPoint(shapeOf(init).size()));
        readRegion(reduction, pointAt(reduction.getStaticLoopRanges()));
      }
      for (const KernelRoot &root : loop.accumulations) {
        auto sum = root.value.getDefiningOp<linalg::GenericOp>();
        for (Value init : sum.getDpsInits())
          read(init, ElementPoint(shapeOf(init).size()));
        readRegion(sum, pointAt(sum.getStaticLoopRanges()));
      }
      for (const KernelRoot &root : loop.writes) {
        read(root.value, pointAt(shapeOf(root.value)));
        accesses.writes[root.result] = time;
      }
    }
    filled.insert(filling.begin(), filling.end());
    filling.clear();
  }
}

/// Sums over rows are finished one after the other behind all passes, each by
/// the thread that stores it.
void AccessFinder::findFinished() {
  time.pass = nest->passes.size();
  for (const auto &pass : nest->passes)
    for (const ColumnLoop &loop : pass)
      for (const KernelRoot &root : loop.accumulations) {
        if (!root.finished)
          continue;
        enterLoop(loop);
        row = {};
        ownElement = column;
        complete = root.value.getDefiningOp();
        read(root.finished, delinearise(column, shapeOf(root.finished)));
        complete = nullptr;
        accesses.writes[root.result] = time;
        ++time.pass;
      }
}

void AccessFinder::find(const KernelNest &from, unsigned number) {
  nest = &from;
  time = {number, 0, 0};
  filled.clear();
  if (!from.scatter) {
    findRow();
    return findFinished();
  }
  ownElement = {};
  seen.clear();
  findAll(from.scatter->value.getDefiningOp());
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

void AccessFinder::readArgument(BlockArgument argument,
                                const ElementIndex &offset) {
  if (argument.getArgNumber() < buffers)
    accesses.reads[argument.getArgNumber()].push_back(
        {time, offset.isKnown() && offset == ownElement});
}

void AccessFinder::read(Value tensor, Point index) {
  SmallVector<ElementPoint, 1> &points = seen[tensor];
  if (llvm::is_contained(points, index))
    return;
  points.emplace_back(index);
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return readArgument(argument, linearise(index, shapeOf(tensor)));
  Operation *op = tensor.getDefiningOp();
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return readReshape(op, index);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return readSlice(slice, index);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return readConcat(concat, index);
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return readScalar(fill.getInputs().front());
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return generic.getNumReductionLoops() == 0
               ? readElement(cast<OpResult>(tensor), index)
               : readReduction(cast<OpResult>(tensor), index);
  // Constants and the contents of tensor.empty read nothing; of what else there
  // may be, everything counts.
  findAll(op);
}

void AccessFinder::readReshape(Operation *op, Point index) {
  Value result = op->getResult(0), source = op->getOperand(0);
  ElementIndex offset = linearise(index, shapeOf(result));
  Value origin = source;
  while (isa_and_present<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
      origin.getDefiningOp()))
    origin = origin.getDefiningOp()->getOperand(0);
  if (auto argument = dyn_cast<BlockArgument>(origin))
    return readArgument(argument, offset);
  read(source, delinearise(offset, shapeOf(source)));
}

void AccessFinder::readSlice(tensor::ExtractSliceOp op, Point index) {
  ElementPoint at;
  for (auto [x, offset, stride] :
       llvm::zip_equal(index, op.getMixedOffsets(), op.getStaticStrides())) {
    auto number = getConstantIntValue(offset);
    if (!number)
      readScalar(cast<Value>(offset));
    at.push_back(number ? x * stride + ElementIndex::constant(*number)
                        : ElementIndex());
  }
  read(op.getSource(), at);
}

void AccessFinder::readConcat(tensor::ConcatOp op, Point index) {
  int64_t dim = op.getDim(), start = 0;
  bool wasInPiece = std::exchange(isInPiece, true);
  for (Value piece : op.getInputs()) {
    ElementPoint at(index);
    at[dim] = at[dim] + ElementIndex::constant(-start);
    read(piece, at);
    start += shapeOf(piece)[dim];
  }
  isInPiece = wasInPiece;
}

/// A number of a tensor of no dimensions or of the function's scalars.
void AccessFinder::readScalar(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    for (Value at : extract.getIndices())
      readScalar(at);
    return read(extract.getTensor(), ElementPoint(extract.getIndices().size()));
  }
  for (Value operand : op->getOperands())
    readScalar(operand);
}

void AccessFinder::readRegion(linalg::GenericOp generic, Point point) {
  Block *body = generic.getBody();
  for (auto [number, operand] : llvm::enumerate(generic.getDpsInputs())) {
    if (body->getArgument(number).use_empty())
      continue;
    if (!isa<RankedTensorType>(operand.getType())) {
      readScalar(operand);
      continue;
    }
    ElementPoint at;
    for (AffineExpr expr : generic.getIndexingMapsArray()[number].getResults())
      at.push_back(evaluate(expr, point));
    read(operand, at);
  }
  for (Operation &op : *body) {
    for (Value operand : op.getOperands())
      if (operand.getParentBlock() != body &&
          !isa<RankedTensorType>(operand.getType()))
        readScalar(operand);
    auto extract = dyn_cast<tensor::ExtractOp>(op);
    if (!extract)
      continue;
    ElementPoint at;
    for (Value index : extract.getIndices()) {
      auto number = index.getDefiningOp<linalg::IndexOp>();
      at.push_back(number ? point[number.getDim()] : ElementIndex());
    }
    read(extract.getTensor(), at);
  }
}

/// The point of the iteration space at which an element of a result is written;
/// reduced dimensions are unknown.
static ElementPoint pointOf(OpResult result, ArrayRef<ElementIndex> index) {
  auto generic = cast<linalg::GenericOp>(result.getOwner());
  ElementPoint point(generic.getNumLoops());
  AffineMap map = generic.getIndexingMapMatchingResult(result);
  for (auto [expr, x] : llvm::zip_equal(map.getResults(), index))
    point[cast<AffineDimExpr>(expr).getPosition()] = x;
  return point;
}

void AccessFinder::readElement(OpResult result, Point index) {
  auto generic = cast<linalg::GenericOp>(result.getOwner());
  bool isKept = order == NestOrder::InTurn && nest->kept.contains(result) &&
                splitShape(shapeOf(result), nest->rows, time.columns) &&
                linearise(index, shapeOf(result)) == ownElement &&
                ownElement.isKnown();
  if (isKept && filled.contains(result))
    return;
  for (auto [argument, init] :
       llvm::zip(generic.getRegionOutputArgs(), generic.getDpsInits()))
    if (!argument.use_empty())
      read(init, index);
  readRegion(generic, pointOf(result, index));
  if (isKept && !isInPiece && time.columns != 1)
    filling.insert(result);
}

void AccessFinder::readReduction(OpResult result, Point index) {
  auto generic = cast<linalg::GenericOp>(result.getOwner());
  if (generic == complete)
    return;
  // A number of the row that an earlier pass has.
  if (nest->reductions.contains(generic) && row.isKnown() &&
      linearise(index, shapeOf(result)) == row)
    return;
  bool wasInPiece = std::exchange(isInPiece, true);
  for (Value init : generic.getDpsInits())
    read(init, index);
  readRegion(generic, pointOf(result, index));
  isInPiece = wasInPiece;
}

KernelAccesses weft::findAccesses(func::FuncOp kernel, const KernelPlan &plan,
                                  NestOrder order) {
  KernelAccesses accesses;
  accesses.reads.resize(kernel.getNumArguments());
  accesses.writes.resize(kernel.getNumResults());
  AccessFinder finder(kernel, order, accesses);
  for (auto [number, nest] : llvm::enumerate(plan.nests))
    finder.find(nest, number);
  return accesses;
}
