//===- Emitter.cpp - Writes ops of a graph --------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

RankedTensorType weft::stablehlo::typeOf(Value value) {
  return value ? cast<RankedTensorType>(value.getType()) : RankedTensorType();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

TypedAttr weft::stablehlo::getSplat(Value value) {
  DenseElementsAttr elements;
  if (!value || !matchPattern(value, m_Constant(&elements)) ||
      !elements.isSplat())
    return {};
  return cast<TypedAttr>(elements.getSplatValue<Attribute>());
}

Attribute weft::stablehlo::getConstant(Value value) {
  Attribute elements;
  return value && matchPattern(value, m_Constant(&elements)) ? elements
                                                             : Attribute();
}

std::optional<int64_t> weft::stablehlo::getSplatInteger(Value value) {
  auto integer = dyn_cast_or_null<IntegerAttr>(getSplat(value));
  if (!integer)
    return std::nullopt;
  return integer.getType().isInteger(1) ? integer.getValue().getZExtValue()
                                        : integer.getValue().getSExtValue();
}

bool weft::stablehlo::isFloat(TypedAttr attr, double value) {
  auto number = dyn_cast_or_null<FloatAttr>(attr);
  return number && number.getValueAsDouble() == value;
}

Value Emitter::splat(RankedTensorType type, TypedAttr value) {
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, value));
}

Value Emitter::splat(RankedTensorType type, double value) {
  Type element = type.getElementType();
  if (isa<FloatType>(element))
    return splat(type, builder.getFloatAttr(element, value));
  return splat(type,
               builder.getIntegerAttr(element, static_cast<int64_t>(value)));
}

Value Emitter::splatLike(Value like, double value) {
  return like ? splat(typeOf(like), value) : Value();
}

//===----------------------------------------------------------------------===//
// Verification and folding
//===----------------------------------------------------------------------===//

/// The verifier's message about `op`, if it has one.
static std::optional<std::string> verifyQuietly(Operation *op) {
  std::string message;
  ScopedDiagnosticHandler handler(op->getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    if (message.empty())
                                      message = diagnostic.str();
                                    return success();
                                  });
  if (succeeded(verify(op)))
    return std::nullopt;
  return message;
}

/// Of tensors of equal elements: MLIR compares single numbers only.
static TypedAttr foldComparison(arith::CmpFOp op, OpBuilder &builder) {
  auto lhs = dyn_cast_or_null<FloatAttr>(getSplat(op.getLhs()));
  auto rhs = dyn_cast_or_null<FloatAttr>(getSplat(op.getRhs()));
  if (!lhs || !rhs)
    return {};
  return builder.getBoolAttr(arith::applyCmpPredicate(
      op.getPredicate(), lhs.getValue(), rhs.getValue()));
}

/// The element that all elements of the result of an op are, if it moves or
/// compares equal elements.
static TypedAttr foldElement(Operation *op, OpBuilder &builder) {
  if (auto comparison = dyn_cast<arith::CmpFOp>(op))
    return foldComparison(comparison, builder);
  auto reduce = dyn_cast<ReduceOp>(op);
  bool keepsElements = isa<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(op) ||
                       (reduce && reduce.getKind() != sharding::Reduction::Sum);
  return keepsElements ? getSplat(op->getOperand(0)) : TypedAttr();
}

static Value foldSplat(Operation *op, OpBuilder &builder) {
  TypedAttr element = foldElement(op, builder);
  if (!element)
    return {};
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return arith::ConstantOp::create(builder, op->getLoc(),
                                   DenseElementsAttr::get(type, element));
}

/// What is chosen between equal constants, as the counter that both branches of
/// a lax.cond in a loop increment.
static Value foldChoice(Operation *op) {
  auto select = dyn_cast<arith::SelectOp>(op);
  Attribute yes, no;
  bool isSame =
      select && matchPattern(select.getTrueValue(), m_Constant(&yes)) &&
      matchPattern(select.getFalseValue(), m_Constant(&no)) && yes == no;
  return isSame ? select.getTrueValue() : Value();
}

Value Emitter::finish(Operation *op) {
  if (std::optional<std::string> message = verifyQuietly(op)) {
    complaintText = *message;
    op->erase();
    return {};
  }
  Value constant = foldChoice(op);
  if (!constant)
    constant = foldSplat(op, builder);
  if (constant) {
    op->erase();
    return constant;
  }
  SmallVector<Value> folded;
  if (succeeded(builder.tryFold(op, folded)) && folded.size() == 1 &&
      folded.front().getType() == op->getResult(0).getType()) {
    if (folded.front().getDefiningOp() != op) {
      op->erase();
      return folded.front();
    }
  }
  return op->getResult(0);
}

//===----------------------------------------------------------------------===//
// Ops along dimensions
//===----------------------------------------------------------------------===//

Value Emitter::broadcast(Value x, ArrayRef<int64_t> shape,
                         ArrayRef<int64_t> dims) {
  if (!x)
    return {};
  // Of two broadcasts in a row one is enough.
  Shape merged(dims);
  while (auto inner = x.getDefiningOp<BroadcastOp>()) {
    if (merged.size() != static_cast<size_t>(inner.getType().getRank()))
      break;
    Shape outer = std::exchange(merged, {});
    for (int64_t dim : inner.getDims())
      merged.push_back(outer[dim]);
    x = inner.getOperand();
  }
  return make<BroadcastOp>(typeOf(x).clone(shape), x, merged);
}

Value Emitter::broadcastScalar(Value x, ArrayRef<int64_t> shape) {
  if (!x || typeOf(x).getRank() != 0)
    return x;
  return broadcast(x, shape, {});
}

/// Whether a broadcast adds dimensions of size 1 and nothing else.
static bool keepsElements(BroadcastOp op) {
  return op.getOperand().getType().getNumElements() ==
         op.getType().getNumElements();
}

Value Emitter::reshape(Value x, ArrayRef<int64_t> shape) {
  while (x) {
    if (auto inner = x.getDefiningOp<ReshapeOp>())
      x = inner.getOperand();
    else if (auto inner = x.getDefiningOp<BroadcastOp>();
             inner && keepsElements(inner))
      x = inner.getOperand();
    else
      break;
  }
  return x ? make<ReshapeOp>(typeOf(x).clone(shape), x) : Value();
}

Value Emitter::transpose(Value x, ArrayRef<int64_t> dims) {
  if (!x || llvm::equal(dims, llvm::seq<int64_t>(0, dims.size())))
    return x;
  Shape shape;
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= typeOf(x).getRank()) {
      complaintText = "permutation names dim " + std::to_string(dim) +
                      " of a tensor of rank " +
                      std::to_string(typeOf(x).getRank());
      return {};
    }
    shape.push_back(typeOf(x).getDimSize(dim));
  }
  return make<TransposeOp>(typeOf(x).clone(shape), x, dims);
}

/// Whether elements are none that the padding adds.
static bool liesInside(PadOp pad, ArrayRef<int64_t> starts,
                       ArrayRef<int64_t> limits) {
  for (auto [low, between, size, start, limit] :
       llvm::zip_equal(pad.getLow(), pad.getInterior(),
                       typeOf(pad.getOperand()).getShape(), starts, limits))
    if (between != 0 || start < low || limit > low + size)
      return false;
  return true;
}

static Shape minus(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  Shape result;
  for (auto [x, y] : llvm::zip_equal(a, b))
    result.push_back(x - y);
  return result;
}

Value Emitter::slice(Value x, ArrayRef<int64_t> starts,
                     ArrayRef<int64_t> limits, ArrayRef<int64_t> strides) {
  if (!x)
    return {};
  Shape ones(starts.size(), 1), shape;
  if (strides.empty())
    strides = ones;
  for (auto [start, limit, stride] : llvm::zip(starts, limits, strides))
    shape.push_back(std::max<int64_t>(
        stride < 1
            ? 0
            : llvm::divideCeil(std::max<int64_t>(limit - start, 0), stride),
        0));
  RankedTensorType type = typeOf(x).clone(shape);
  if (type == typeOf(x))
    return x;
  // A part of what was padded is one of what it was padded around.
  if (auto pad = x.getDefiningOp<PadOp>();
      pad && liesInside(pad, starts, limits))
    return slice(pad.getOperand(), minus(starts, pad.getLow()),
                 minus(limits, pad.getLow()), strides);
  return make<SliceOp>(type, x, starts, limits, strides);
}

Value Emitter::concat(ValueRange parts, int64_t dim) {
  if (parts.empty() || llvm::is_contained(parts, Value()))
    return {};
  RankedTensorType first = typeOf(parts.front());
  if (parts.size() == 1)
    return parts.front();
  Shape shape(first.getShape());
  if (dim >= 0 && dim < first.getRank()) {
    shape[dim] = 0;
    for (Value part : parts)
      if (typeOf(part).getRank() == first.getRank())
        shape[dim] += typeOf(part).getDimSize(dim);
  }
  return make<ConcatOp>(first.clone(shape), parts, dim);
}

Value Emitter::iota(ArrayRef<int64_t> shape, Type element, int64_t dim) {
  return make<IotaOp>(RankedTensorType::get(shape, element), dim);
}
