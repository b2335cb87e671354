//===- ElementEmitter.cpp - Elements on demand ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementEmitter.h"
#include "CompensatedSum.h"
#include "KernelBody.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace weft;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

ElementEmitter::ElementEmitter(OpBuilder &builder, func::FuncOp kernel,
                               LLVM::LLVMFuncOp target,
                               ArrayRef<Value> arguments,
                               EmitterOptions options)
    : b(builder), loc(kernel.getLoc()),
      ops(builder, kernel.getLoc(), options.width),
      indices(builder, ops, &target.getBody().front()),
      buffers(builder, loc, ops, indices, arguments,
              std::move(options.buffers)),
      kernel(kernel), target(target),
      tablePrefix(std::move(options.tablePrefix)) {}

bool ElementEmitter::isOwnElement(Value tensor, Index index) {
  ArrayRef<int64_t> shape = tensorType(tensor).getShape();
  return splitShape(shape, position.rows, position.columns) &&
         indices.linearise(index, shape) == position.ownElement;
}

/// The row buffer that has the tensor's elements at the loops' own positions.
Value ElementEmitter::rowBufferOf(Value tensor, bool isOwn) {
  return isOwn ? kept.bufferOf(tensor) : Value();
}

/// Where all columns come by.
void ElementEmitter::keep(Value tensor, Value value, Value buffer) {
  if (!buffer || cache.depth() != bodyDepth || position.columns == 1)
    return;
  store(value, buffer, position.keptAt);
  kept.fill(tensor);
}

Value ElementEmitter::emit(Value tensor, Index index) {
  if (Value known = cache.find(tensor, index))
    return known;
  Value value = compute(tensor, index);
  return cache.add(tensor, index, value);
}

Value ElementEmitter::compute(Value tensor, Index index) {
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return emitArgument(
        argument, indices.linearise(index, tensorType(tensor).getShape()));
  Operation *op = tensor.getDefiningOp();
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return emitReshape(op, index);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return emitConstant(constant, index);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return emitSlice(slice, index);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return emitConcat(concat, index);
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return emitScalar(fill.getInputs().front());
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return generic.getNumReductionLoops() == 0
               ? emitGeneric(cast<OpResult>(tensor), index)
               : emitReduction(cast<OpResult>(tensor), index);
  // The contents of tensor.empty are never looked at.
  return ops.constant(b.getZeroAttr(tensorType(tensor).getElementType()));
}

Value ElementEmitter::emitArgument(BlockArgument argument, LaneIndex offset) {
  unsigned number = argument.getArgNumber();
  if (number >= countBufferArguments(kernel))
    return arith::TruncIOp::create(b, loc, b.getI32Type(),
                                   buffers.argument(number));
  Type element = tensorType(argument).getElementType();
  // A slice of the only row may begin as the row does.
  bool hasRows = kept.has(argument) && tensorType(argument).getNumElements() ==
                                           position.rows * position.columns;
  Value buffer =
      rowBufferOf(argument, hasRows && offset == position.ownElement);
  if (buffer && kept.isFilled(argument))
    return load(buffer, element, position.keptAt);
  Value value = buffers.loadArgument(number, element, offset);
  keep(argument, value, buffer);
  return value;
}

/// A number of a tensor of no dimensions or of the function's scalars.
Value ElementEmitter::emitScalar(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<LaneIndex> index;
    for (Value at : extract.getIndices())
      index.push_back(indices.uniform(emitScalar(at)));
    return emit(extract.getTensor(), index);
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(emitScalar(operand));
  return ops.apply(op, operands);
}

static Attribute toStorage(Attribute value, OpBuilder &b) {
  auto number = cast<TypedAttr>(value);
  if (number.getType().isInteger(1))
    return b.getI8IntegerAttr(
        cast<IntegerAttr>(value).getValue().getZExtValue());
  return LaneOps::carry(number);
}

Value ElementEmitter::emitConstant(arith::ConstantOp op, Index index) {
  auto elements = cast<DenseElementsAttr>(op.getValue());
  if (elements.isSplat())
    return ops.constant(cast<TypedAttr>(elements.getSplatValue<Attribute>()));
  Type element = elements.getElementType();
  LLVM::GlobalOp &table = tables[op];
  if (!table) {
    SmallVector<Attribute> stored;
    for (Attribute value : elements.getValues<Attribute>())
      stored.push_back(toStorage(value, b));
    Type storage = getStorageType(element);
    int64_t count = elements.getNumElements();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(target);
    table = LLVM::GlobalOp::create(
        b, loc, LLVM::LLVMArrayType::get(storage, count), /*isConstant=*/true,
        LLVM::Linkage::Internal,
        (tablePrefix + "_table" + Twine(tables.size())).str(),
        DenseElementsAttr::get(RankedTensorType::get({count}, storage),
                               stored));
  }
  Value address = LLVM::AddressOfOp::create(b, loc, table);
  return load(address, element,
              indices.linearise(index, elements.getType().getShape()));
}

Value ElementEmitter::emitReshape(Operation *op, Index index) {
  Value result = op->getResult(0), source = op->getOperand(0);
  Value origin = source;
  while (Operation *producer = origin.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(producer))
      break;
    origin = producer->getOperand(0);
  }
  if (auto argument = dyn_cast<BlockArgument>(origin))
    return emitArgument(
        argument, indices.linearise(index, tensorType(result).getShape()));

  // A value that is kept under this name has its elements in the same order.
  auto expand = dyn_cast<tensor::ExpandShapeOp>(op);
  auto groups =
      expand ? expand.getReassociationIndices()
             : cast<tensor::CollapseShapeOp>(op).getReassociationIndices();
  ArrayRef<int64_t> wide = tensorType(expand ? result : source).getShape();
  SmallVector<LaneIndex> at;
  if (groups.empty()) // to or from a tensor of no dimensions
    at.assign(tensorType(source).getRank(), indices.constant(0));
  for (auto [dim, group] : llvm::enumerate(groups)) {
    SmallVector<int64_t> shape;
    SmallVector<LaneIndex> part;
    for (int64_t d : group) {
      shape.push_back(wide[d]);
      if (expand)
        part.push_back(index[d]);
    }
    if (expand)
      at.push_back(indices.linearise(part, shape));
    else
      llvm::append_range(at, indices.delinearise(index[dim], shape));
  }
  return emit(source, at);
}

SmallVector<Value> ElementEmitter::emitRegion(linalg::GenericOp generic,
                                              Index point,
                                              ValueRange accumulators) {
  Block *body = generic.getBody();
  IRMapping known;
  for (auto [number, operand] : llvm::enumerate(generic.getDpsInputs())) {
    BlockArgument argument = body->getArgument(number);
    if (argument.use_empty())
      continue;
    AffineMap map = generic.getIndexingMapsArray()[number];
    SmallVector<LaneIndex> at;
    for (AffineExpr expr : map.getResults())
      at.push_back(indices.evaluate(expr, point));
    if (!isa<RankedTensorType>(operand.getType())) {
      known.map(argument, emitScalar(operand));
      continue;
    }
    auto emitElement = [&, tensor = operand] { return emit(tensor, at); };
    OpOperand *use = generic.getDpsInputOperand(number);
    known.map(argument, readOperand ? readOperand(generic, *use, emitElement)
                                    : emitElement());
  }
  for (auto [argument, value] :
       llvm::zip(generic.getRegionOutputArgs(), accumulators))
    known.map(argument, value);
  auto valueOf = [&](Value value) {
    if (!known.contains(value))
      known.map(value, emitScalar(value)); // defined outside of the region
    return known.lookup(value);
  };
  // The index of a dimension counts up; any other number may be anything.
  auto indexOf = [&](Value value) -> LaneIndex {
    if (auto number = value.getDefiningOp<linalg::IndexOp>())
      return point[number.getDim()];
    Value known = valueOf(value);
    return LaneOps::isLanes(known) ? LaneIndex{{}, 0, known, 1}
                                   : indices.uniform(known);
  };
  for (Operation &op : body->without_terminator()) {
    if (auto number = dyn_cast<linalg::IndexOp>(op)) {
      known.map(number.getResult(),
                indices.materialise(point[number.getDim()]));
      continue;
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      auto at = llvm::map_to_vector(extract.getIndices(), indexOf);
      known.map(extract.getResult(), emit(extract.getTensor(), at));
      continue;
    }
    SmallVector<Value> operands =
        llvm::map_to_vector(op.getOperands(), valueOf);
    known.map(op.getResults(), ops.applyAll(&op, operands));
  }
  return llvm::map_to_vector(body->getTerminator()->getOperands(), valueOf);
}

/// The point of the iteration space at which an element of a result is written;
/// reduced dimensions are left unset.
static SmallVector<LaneIndex> pointOf(OpResult result,
                                      ArrayRef<LaneIndex> index) {
  auto generic = cast<linalg::GenericOp>(result.getOwner());
  SmallVector<LaneIndex> point(generic.getNumLoops());
  AffineMap map = generic.getIndexingMapMatchingResult(result);
  for (auto [expr, x] : llvm::zip_equal(map.getResults(), index))
    point[cast<AffineDimExpr>(expr).getPosition()] = x;
  return point;
}

Value ElementEmitter::emitGeneric(OpResult result, Index index) {
  auto generic = cast<linalg::GenericOp>(result.getOwner());
  Value buffer = kept.has(result)
                     ? rowBufferOf(result, isOwnElement(result, index))
                     : Value();
  if (buffer && kept.isFilled(result))
    return load(buffer, tensorType(result).getElementType(), position.keptAt);

  SmallVector<Value> outputs;
  for (auto [argument, init] :
       llvm::zip(generic.getRegionOutputArgs(), generic.getDpsInits()))
    outputs.push_back(argument.use_empty() ? Value() : emit(init, index));
  auto results = emitRegion(generic, pointOf(result, index), outputs);
  for (auto [other, value] : llvm::zip_equal(generic->getResults(), results))
    if (other != result && generic.getIndexingMapMatchingResult(other) ==
                               generic.getIndexingMapMatchingResult(result))
      cache.add(other, index, value);
  Value value = results[result.getResultNumber()];
  keep(result, value, buffer);
  return value;
}

Value ElementEmitter::emitReduction(OpResult result, Index index) {
  auto generic = cast<linalg::GenericOp>(result.getOwner());
  ArrayRef<int64_t> shape = tensorType(result).getShape();
  if (auto known = rowValues.find(generic);
      known != rowValues.end() &&
      indices.linearise(index, shape) == position.row)
    return known->second;
  if (auto known = columnValues.find(generic);
      known != columnValues.end() &&
      indices.linearise(index, shape) == position.column)
    return known->second;

  // Any other reduction is a loop of its own.
  bool lanes = !llvm::all_of(index, [](LaneIndex x) { return x.isUniform(); });
  SmallVector<Value> inits;
  for (Value init : generic.getDpsInits()) {
    Value value = emit(init, index);
    inits.push_back(lanes ? ops.spread(value) : value);
  }
  bool compensated = isCompensated(generic);
  if (compensated)
    inits.push_back(ops.constant(b.getF64FloatAttr(0), lanes));
  SmallVector<int64_t> sizes;
  SmallVector<unsigned> dims;
  generic.getReductionDims(dims);
  for (unsigned dim : dims)
    sizes.push_back(generic.getStaticLoopRanges()[dim]);
  auto loop = scf::ForOp::create(
      b, loc, ops.i64(0), ops.i64(llvm::product_of(sizes)), ops.i64(1), inits,
      [&](OpBuilder &, Location, Value step, ValueRange sums) {
        enterScope();
        SmallVector<LaneIndex> point = pointOf(result, index);
        auto reduced = indices.delinearise(indices.uniform(step), sizes);
        for (auto [dim, x] : llvm::zip_equal(dims, reduced))
          point[dim] = x;
        auto next = emitRegion(generic, point,
                               sums.take_front(generic->getNumResults()));
        if (compensated)
          next.push_back(addTerm(b, {sums[0], sums[1]}, next[0]).error);
        if (lanes)
          for (Value &value : next)
            value = ops.spread(value);
        scf::YieldOp::create(b, loc, next);
        leaveScope();
      });
  if (compensated)
    return totalOf(b, {loop.getResult(0), loop.getResult(1)});
  return loop.getResult(result.getResultNumber());
}

Value ElementEmitter::emitSlice(tensor::ExtractSliceOp op, Index index) {
  SmallVector<LaneIndex> at;
  for (auto [x, offset, stride] :
       llvm::zip_equal(index, op.getMixedOffsets(), op.getStaticStrides())) {
    auto number = getConstantIntValue(offset);
    LaneIndex start = number ? indices.constant(*number)
                             : indices.uniform(emitScalar(cast<Value>(offset)));
    at.push_back(indices.add(start, indices.multiply(x, stride)));
  }
  return emit(op.getSource(), at);
}

/// Whether all lanes read one piece: those of a GPU are few, and pieces mostly
/// begin at multiples of them.
bool ElementEmitter::liesInOnePiece(tensor::ConcatOp op, LaneIndex x) const {
  if (x.isUniform())
    return true;
  return buffers.alignsVectors() &&
         llvm::all_of(op.getInputs(), [&](Value piece) {
           int64_t size = tensorType(piece).getDimSize(op.getDim());
           return indices.lanesStayInBlock(x, size);
         });
}

/// Where the pieces of a concat end.
static SmallVector<int64_t> limitsOf(tensor::ConcatOp op) {
  SmallVector<int64_t> limits;
  for (Value piece : op.getInputs())
    limits.push_back((limits.empty() ? 0 : limits.back()) +
                     tensorType(piece).getDimSize(op.getDim()));
  return limits;
}

Value ElementEmitter::emitConcat(tensor::ConcatOp op, Index index) {
  const LaneIndex x = index[op.getDim()];
  if (liesInOnePiece(op, x))
    return emitPieceOf(op, index, x.base);
  const SmallVector<int64_t> limits = limitsOf(op);
  const bool hasWide = llvm::any_of(op.getInputs(), [&](Value piece) {
    return tensorType(piece).getDimSize(op.getDim()) >= ops.width;
  });
  if (buffers.alignsVectors() || x.lanes || x.stride != 1 || !hasWide)
    return emitLanesOfPieces(op, index);
  // A CPU takes hundreds of cycles for a masked load of lanes that are all off
  // where no memory is. So pieces are read by whole vectors where one lies in a
  // single piece, and lane by lane only where two pieces meet.
  Value limit = emitInPiece(limits, x.base, [&](unsigned piece) {
    return indices.constant(limits[piece]).base;
  });
  Value last = arith::AddIOp::create(b, loc, x.base, ops.i64(ops.width - 1));
  Value isWhole =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, last, limit);
  return emitEither(
      isWhole, [&] { return emitPieceOf(op, index, x.base); },
      [&] { return emitLanesOfPieces(op, index); });
}

/// The lanes of all pieces.
Value ElementEmitter::emitLanesOfPieces(tensor::ConcatOp op, Index index) {
  int64_t dim = op.getDim();
  Value number = indices.materialise(index[dim]), result,
        outer = buffers.mask();
  int64_t start = 0;
  for (auto [piece, limit] : llvm::zip_equal(op.getInputs(), limitsOf(op))) {
    auto compare = [&](arith::CmpIPredicate predicate, int64_t bound) {
      Value bounds = ops.constant(b.getI64IntegerAttr(bound), /*lanes=*/true);
      return arith::CmpIOp::create(b, loc, predicate, number, bounds);
    };
    Value inside =
        arith::AndIOp::create(b, loc, compare(arith::CmpIPredicate::sge, start),
                              compare(arith::CmpIPredicate::slt, limit));
    buffers.setMask(outer ? arith::AndIOp::create(b, loc, outer, inside)
                          : inside);
    enterScope();
    SmallVector<LaneIndex> at(index);
    at[dim] = indices.add(index[dim], indices.constant(-start));
    Value value = emit(piece, at);
    leaveScope();
    result = result ? ops.select(inside, value, result) : value;
    start = limit;
  }
  buffers.setMask(outer);
  return ops.spread(result);
}

/// What is emitted where a condition holds, and where it does not.
Value ElementEmitter::emitEither(Value condition, ValueEmitter emitThen,
                                 ValueEmitter emitElse) {
  auto branch = [&](ValueEmitter emitValue) {
    return [&, emitValue](OpBuilder &, Location) {
      enterScope();
      scf::YieldOp::create(b, loc, emitValue());
      leaveScope();
    };
  };
  return scf::IfOp::create(b, loc, condition, branch(emitThen),
                           branch(emitElse))
      .getResult(0);
}

/// A binary search for the piece that has the number `at`; `first` is that of
/// the first of `limits`.
Value ElementEmitter::emitInPiece(ArrayRef<int64_t> limits, Value at,
                                  llvm::function_ref<Value(unsigned)> emitPiece,
                                  unsigned first) {
  if (limits.size() == 1)
    return emitPiece(first);
  const size_t half = limits.size() / 2;
  Value isBefore =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, at,
                            indices.constant(limits[half - 1]).base);
  return emitEither(
      isBefore,
      [&] {
        return emitInPiece(limits.take_front(half), at, emitPiece, first);
      },
      [&] {
        return emitInPiece(limits.drop_front(half), at, emitPiece,
                           unsigned(first + half));
      });
}

/// All lanes, of the piece that has the number `x`.
Value ElementEmitter::emitPieceOf(tensor::ConcatOp op, Index index, Value x) {
  const int64_t dim = op.getDim();
  const SmallVector<int64_t> limits = limitsOf(op);
  bool lanes = !llvm::all_of(index, [](LaneIndex x) { return x.isUniform(); });
  return emitInPiece(limits, x, [&](unsigned piece) {
    SmallVector<LaneIndex> at(index);
    at[dim] = indices.add(
        index[dim], indices.constant(piece == 0 ? 0 : -limits[piece - 1]));
    Value value = emit(op.getInputs()[piece], at);
    return lanes ? ops.spread(value) : value;
  });
}
