//===- LowerKernels.cpp - Bodies of kernels to linalg ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Codegen/Passes.h"

#include "weft/IR/NarrowFloats.h"
#include "weft/IR/NeutralElement.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

namespace weft {
#define GEN_PASS_DEF_LOWERKERNELS
#include "weft/Codegen/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

namespace {

using BodyBuilder =
    llvm::function_ref<Value(OpBuilder &, Location, ValueRange)>;
/// Of an op with several results.
using BodiesBuilder =
    llvm::function_ref<ValueRange(OpBuilder &, Location, ValueRange)>;

/// Replaces one op after the other by linalg on tensors.
class BodyLowering {
public:
  explicit BodyLowering(MLIRContext *context) : b(context) {}
  LogicalResult lower(Operation *op);

private:
  ValueRange elementwise(Operation *op);
  Value lowerShapeOp(Operation *op);
  Value broadcast(BroadcastOp op);
  Value transpose(TransposeOp op);
  Value reduce(ReduceOp op);
  Value reshape(ReshapeOp op);
  Value slice(SliceOp op);
  Value pad(PadOp op);
  Value spreadOut(PadOp op);
  Value concat(ConcatOp op);
  Value gather(GatherOp op);
  Value iota(IotaOp op);

  Value parallel(RankedTensorType type, ValueRange inputs,
                 ArrayRef<AffineMap> maps, BodyBuilder body);
  ValueRange parallel(TypeRange types, ValueRange inputs,
                      ArrayRef<AffineMap> maps, BodiesBuilder body);
  Value readThrough(Value operand, AffineMap map, Type result);
  Value convert(Value tensor, Type element);

  OpBuilder b;
  Location loc = b.getUnknownLoc();
};

} // namespace

static Value splat(OpBuilder &b, Location loc, RankedTensorType type,
                   Attribute value) {
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, value));
}

/// A linalg.generic that computes each element of `types`, which have one
/// shape, on its own.
ValueRange BodyLowering::parallel(TypeRange types, ValueRange inputs,
                                  ArrayRef<AffineMap> maps,
                                  BodiesBuilder body) {
  int64_t rank = cast<RankedTensorType>(types.front()).getRank();
  SmallVector<Value> inits;
  for (Type type : types)
    inits.push_back(
        tensor::EmptyOp::create(b, loc, cast<RankedTensorType>(type).getShape(),
                                getElementTypeOrSelf(type)));
  SmallVector<AffineMap> all(maps);
  all.append(types.size(), b.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, types, inputs, inits, all, iterators,
             [&](OpBuilder &builder, Location at, ValueRange arguments) {
               linalg::YieldOp::create(builder, at,
                                       body(builder, at, arguments));
             })
      .getResults();
}

Value BodyLowering::parallel(RankedTensorType type, ValueRange inputs,
                             ArrayRef<AffineMap> maps, BodyBuilder body) {
  Type result = type;
  Value value;
  return parallel(TypeRange(result), inputs, maps,
                  [&](OpBuilder &builder, Location at, ValueRange arguments) {
                    value = body(builder, at, arguments);
                    return ValueRange(value);
                  })
      .front();
}

ValueRange BodyLowering::elementwise(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<AffineMap> maps(op->getNumOperands(),
                              b.getMultiDimIdentityMap(type.getRank()));
  return parallel(
      op->getResultTypes(), op->getOperands(), maps,
      [&](OpBuilder &builder, Location, ValueRange arguments) {
        IRMapping mapping;
        mapping.map(op->getOperands(), arguments.take_front(maps.size()));
        // An operand that is used twice has two arguments; any will do.
        Operation *scalar = builder.clone(*op, mapping);
        scalar->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
        for (Value result : scalar->getResults())
          result.setType(getElementTypeOrSelf(result));
        return ValueRange(scalar->getResults());
      });
}

Value BodyLowering::readThrough(Value operand, AffineMap map, Type result) {
  return parallel(cast<RankedTensorType>(result), operand, map,
                  [](OpBuilder &, Location, ValueRange arguments) {
                    return arguments.front();
                  });
}

Value BodyLowering::broadcast(BroadcastOp op) {
  RankedTensorType from = typeOf(op.getOperand()), to = typeOf(op.getResult());
  SmallVector<AffineExpr> position;
  for (auto [dim, target] : llvm::enumerate(op.getDims()))
    position.push_back(from.getDimSize(dim) == to.getDimSize(target)
                           ? b.getAffineDimExpr(target)
                           : b.getAffineConstantExpr(0));
  return readThrough(op.getOperand(),
                     AffineMap::get(to.getRank(), 0, position, b.getContext()),
                     to);
}

Value BodyLowering::transpose(TransposeOp op) {
  auto type = typeOf(op.getResult());
  SmallVector<AffineExpr> position(type.getRank());
  for (auto [dim, source] : llvm::enumerate(op.getDims()))
    position[source] = b.getAffineDimExpr(dim);
  return readThrough(
      op.getOperand(),
      AffineMap::get(type.getRank(), 0, position, b.getContext()), type);
}

/// The combination of two elements. Sums of predicates wrap around, as sums of
/// other integers do.
static Value combine(OpBuilder &b, Location loc, sharding::Reduction kind,
                     Value x, Value y) {
  bool isFloat = isa<FloatType>(x.getType()), isBool = x.getType().isInteger(1);
  switch (kind) {
  case sharding::Reduction::Sum:
    if (isFloat)
      return arith::AddFOp::create(b, loc, x, y);
    return arith::AddIOp::create(b, loc, x, y);
  case sharding::Reduction::Max:
    if (isFloat)
      return arith::MaximumFOp::create(b, loc, x, y);
    if (isBool)
      return arith::OrIOp::create(b, loc, x, y);
    return arith::MaxSIOp::create(b, loc, x, y);
  case sharding::Reduction::Min:
    if (isFloat)
      return arith::MinimumFOp::create(b, loc, x, y);
    if (isBool)
      return arith::AndIOp::create(b, loc, x, y);
    return arith::MinSIOp::create(b, loc, x, y);
  }
  llvm_unreachable("three kinds of reduction");
}

/// Sums of narrower floats are formed in f64 and rounded once: of no sum that
/// fits in memory more than the last rounding is seen.
Value BodyLowering::reduce(ReduceOp op) {
  RankedTensorType from = typeOf(op.getOperand()), to = typeOf(op.getResult());
  Type element = to.getElementType();
  bool widen = isa<FloatType>(element) && !element.isF64() &&
               op.getKind() == sharding::Reduction::Sum;
  Type sumType = widen ? b.getF64Type() : element;
  SmallVector<utils::IteratorType> iterators(from.getRank(),
                                             utils::IteratorType::parallel);
  for (int64_t dim : op.getDims())
    iterators[dim] = utils::IteratorType::reduction;
  SmallVector<AffineExpr> kept;
  for (auto [dim, iterator] : llvm::enumerate(iterators))
    if (iterator == utils::IteratorType::parallel)
      kept.push_back(b.getAffineDimExpr(dim));
  Value init =
      splat(b, loc, to.clone(sumType), neutralElement(sumType, op.getKind()));
  AffineMap maps[] = {b.getMultiDimIdentityMap(from.getRank()),
                      AffineMap::get(from.getRank(), 0, kept, b.getContext())};
  auto body = [&](OpBuilder &builder, Location at, ValueRange arguments) {
    Value x = arguments[0];
    if (widen)
      x = arith::ExtFOp::create(builder, at, sumType, x);
    linalg::YieldOp::create(
        builder, at, combine(builder, at, op.getKind(), x, arguments[1]));
  };
  Value sum = linalg::GenericOp::create(b, loc, init.getType(), op.getOperand(),
                                        init, maps, iterators, body)
                  .getResult(0);
  return widen ? convert(sum, element) : sum;
}

/// f64 to a narrower float.
Value BodyLowering::convert(Value tensor, Type element) {
  auto type = typeOf(tensor).clone(element);
  return parallel(type, tensor, b.getMultiDimIdentityMap(type.getRank()),
                  [&](OpBuilder &builder, Location at, ValueRange arguments) {
                    return arith::TruncFOp::create(builder, at, element,
                                                   arguments[0])
                        .getResult();
                  });
}

/// Dimensions of both shapes, grouped so that groups have as many elements:
/// [6, 2, 4] and [3, 2, 8] give {6} {2, 4} and {3, 2} {8}.
static void groupDimensions(ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                            SmallVector<ReassociationIndices> &fromGroups,
                            SmallVector<ReassociationIndices> &toGroups) {
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    ReassociationIndices left{int64_t(i)}, right{int64_t(j)};
    int64_t leftSize = from[i++], rightSize = to[j++];
    while (leftSize != rightSize) {
      if (leftSize < rightSize && i < from.size()) {
        left.push_back(i);
        leftSize *= from[i++];
      } else {
        right.push_back(j);
        rightSize *= to[j++];
      }
    }
    fromGroups.push_back(left);
    toGroups.push_back(right);
  }
  // What is left has size 1.
  for (; i < from.size() && !fromGroups.empty(); ++i)
    fromGroups.back().push_back(i);
  for (; j < to.size() && !toGroups.empty(); ++j)
    toGroups.back().push_back(j);
}

Value BodyLowering::reshape(ReshapeOp op) {
  RankedTensorType from = typeOf(op.getOperand()), to = typeOf(op.getResult());
  if (from.getNumElements() == 0)
    return tensor::EmptyOp::create(b, loc, to.getShape(), to.getElementType());
  SmallVector<ReassociationIndices> fromGroups, toGroups;
  groupDimensions(from.getShape(), to.getShape(), fromGroups, toGroups);
  Value value = op.getOperand();
  if (fromGroups.size() != size_t(from.getRank()))
    value = tensor::CollapseShapeOp::create(b, loc, value, fromGroups);
  if (toGroups.size() != size_t(to.getRank()))
    value = tensor::ExpandShapeOp::create(b, loc, to, value, toGroups);
  return value;
}

Value BodyLowering::slice(SliceOp op) {
  auto type = typeOf(op.getResult());
  auto attributes = [&](ArrayRef<int64_t> numbers) {
    return getAsIndexOpFoldResult(b.getContext(), numbers);
  };
  return tensor::ExtractSliceOp::create(
      b, loc, type, op.getOperand(), attributes(op.getStarts()),
      attributes(type.getShape()), attributes(op.getStrides()));
}

/// What stands before and after the operand is put there by concats; so the
/// operand is still read in contiguous pieces.
Value BodyLowering::pad(PadOp op) {
  Value value = op.getOperand();
  if (llvm::any_of(op.getInterior(), [](int64_t n) { return n != 0; }))
    value = spreadOut(op);
  for (int64_t dim = 0; dim < typeOf(value).getRank(); ++dim) {
    SmallVector<Value> pieces;
    auto addSplat = [&](int64_t size) {
      SmallVector<int64_t> shape(typeOf(value).getShape());
      shape[dim] = size;
      if (size != 0)
        pieces.push_back(
            splat(b, loc, typeOf(value).clone(shape), op.getValue()));
    };
    addSplat(op.getLow()[dim]);
    pieces.push_back(value);
    addSplat(op.getHigh()[dim]);
    if (pieces.size() > 1)
      value = tensor::ConcatOp::create(b, loc, dim, pieces);
  }
  return value;
}

/// The operand with the value between its elements: element `i` of `n + 1`
/// times as many is one of the operand if `n + 1` divides `i`.
Value BodyLowering::spreadOut(PadOp op) {
  SmallVector<int64_t> shape;
  for (auto [size, between] :
       llvm::zip_equal(typeOf(op.getOperand()).getShape(), op.getInterior()))
    shape.push_back(size + std::max<int64_t>(size - 1, 0) * between);
  return parallel(
      typeOf(op.getOperand()).clone(shape), {}, {},
      [&](OpBuilder &builder, Location at, ValueRange) -> Value {
        SmallVector<Value> source;
        Value isElement;
        for (auto [dim, between] : llvm::enumerate(op.getInterior())) {
          Value index = linalg::IndexOp::create(builder, at, dim);
          if (between != 0) {
            Value step =
                arith::ConstantIndexOp::create(builder, at, between + 1);
            Value zero = arith::ConstantIndexOp::create(builder, at, 0);
            Value rest = arith::RemUIOp::create(builder, at, index, step);
            Value divides = arith::CmpIOp::create(
                builder, at, arith::CmpIPredicate::eq, rest, zero);
            isElement = isElement ? arith::AndIOp::create(builder, at,
                                                          isElement, divides)
                                  : divides;
            index = arith::DivUIOp::create(builder, at, index, step);
          }
          source.push_back(index);
        }
        Value element =
            tensor::ExtractOp::create(builder, at, op.getOperand(), source);
        Value between = arith::ConstantOp::create(builder, at, op.getValue());
        return arith::SelectOp::create(builder, at, isElement, element,
                                       between);
      });
}

/// Reads the operand at the position of the result's element, with the clamped
/// index along `dim`.
Value BodyLowering::gather(GatherOp op) {
  GatherDims dims = op.getGatherDims();
  RankedTensorType type = op.getType();
  SmallVector<AffineExpr> indexAt;
  for (int64_t takenDim : dims.getTakenDimsOfIndices())
    indexAt.push_back(b.getAffineDimExpr(takenDim));
  int64_t last = op.getOperand().getType().getDimSize(op.getDim()) - 1;
  return parallel(
      type, op.getIndices(),
      AffineMap::get(type.getRank(), 0, indexAt, b.getContext()),
      [&](OpBuilder &builder, Location at, ValueRange arguments) -> Value {
        Type integer = arguments[0].getType();
        auto number = [&](int64_t n) -> Value {
          return arith::ConstantOp::create(builder, at,
                                           b.getIntegerAttr(integer, n));
        };
        Value index =
            arith::MaxSIOp::create(builder, at, arguments[0], number(0));
        index = arith::MinSIOp::create(builder, at, index, number(last));
        index = arith::IndexCastOp::create(builder, at, builder.getIndexType(),
                                           index);
        SmallVector<Value> source;
        for (int64_t dim = 0; dim < dims.tableRank; ++dim)
          source.push_back(dim == dims.dim
                               ? index
                               : Value(linalg::IndexOp::create(
                                     builder, at, dims.getTakenDim(dim))));
        return tensor::ExtractOp::create(builder, at, op.getOperand(), source);
      });
}

Value BodyLowering::concat(ConcatOp op) {
  return tensor::ConcatOp::create(b, loc, op.getResult().getType(), op.getDim(),
                                  op.getOperands());
}

Value BodyLowering::iota(IotaOp op) {
  auto type = typeOf(op.getResult());
  Type element = type.getElementType();
  return parallel(
      type, {}, {}, [&](OpBuilder &builder, Location at, ValueRange) -> Value {
        Value index = linalg::IndexOp::create(builder, at, op.getDim());
        Type integer = isa<FloatType>(element) ? builder.getI64Type() : element;
        index = arith::IndexCastOp::create(builder, at, integer, index);
        if (integer == element)
          return index;
        return arith::SIToFPOp::create(builder, at, element, index);
      });
}

/// Null for other ops.
Value BodyLowering::lowerShapeOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](BroadcastOp op) { return broadcast(op); })
      .Case([&](TransposeOp op) { return transpose(op); })
      .Case([&](ReduceOp op) { return reduce(op); })
      .Case([&](ReshapeOp op) { return reshape(op); })
      .Case([&](SliceOp op) { return slice(op); })
      .Case([&](PadOp op) { return pad(op); })
      .Case([&](ConcatOp op) { return concat(op); })
      .Case([&](GatherOp op) { return gather(op); })
      .Case([&](IotaOp op) { return iota(op); })
      .Default(Value());
}

LogicalResult BodyLowering::lower(Operation *op) {
  b.setInsertionPoint(op);
  loc = op->getLoc();
  if (OpTrait::hasElementwiseMappableTraits(op))
    op->replaceAllUsesWith(elementwise(op));
  else if (Value value = lowerShapeOp(op))
    op->replaceAllUsesWith(ValueRange(value));
  else
    return op->emitOpError("has no lowering to linalg; expected an "
                           "element-wise op or a tensor op of the dialect");
  op->erase();
  return success();
}

/// What is in a kernel body and stays.
static bool isLowered(Operation *op) {
  return isa<arith::ConstantOp, ScatterAddOp, func::ReturnOp>(op) ||
         isa<tensor::TensorDialect, linalg::LinalgDialect>(op->getDialect()) ||
         llvm::none_of(op->getResultTypes(),
                       [](Type type) { return isa<ShapedType>(type); });
}

namespace {

struct LowerKernels : weft::impl::LowerKernelsBase<LowerKernels> {
  using LowerKernelsBase::LowerKernelsBase;

  void runOnInput() override {
    RewritePatternSet patterns(&getContext());
    // A producer is computed inside of its consumer if no one else needs it.
    linalg::populateElementwiseOpsFusionPatterns(
        patterns, [](OpOperand *operand) {
          return operand->get().hasOneUse() &&
                 isa<linalg::GenericOp>(operand->get().getDefiningOp());
        });
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    FrozenRewritePatternSet fusion(std::move(patterns));
    // Of a long chain, as of random numbers, each round may fuse a part only.
    GreedyRewriteConfig config;
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      if (!kernel->hasAttr(WeftDialect::kKernelAttrName))
        continue;
      if (failed(lowerBody(kernel)) ||
          failed(applyPatternsGreedily(kernel, fusion, config)))
        return signalPassFailure();
      kernel.walk([&](linalg::GenericOp) { ++loops; });
    }
  }

  LogicalResult lowerBody(func::FuncOp kernel) {
    BodyLowering lowering(&getContext());
    for (Operation &op : llvm::make_early_inc_range(kernel.getBody().getOps()))
      if (!isLowered(&op) && failed(lowering.lower(&op)))
        return failure();
    return success();
  }
};

} // namespace
