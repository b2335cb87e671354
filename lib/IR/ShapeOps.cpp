//===- ShapeOps.cpp - Ops along dimensions --------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builders, verifiers and folds of the ops that move or combine elements along
// dimensions: broadcast, reshape, transpose, reduce, slice, pad, concat,
// iota.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace weft;

static std::string dimOfOperand(int64_t dim) {
  return "dim " + std::to_string(dim) + " of the operand";
}

/// Whether the list is 0, 1, 2, ...
static bool isIdentity(ArrayRef<int64_t> dims) {
  for (auto [i, dim] : llvm::enumerate(dims))
    if (dim != static_cast<int64_t>(i))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Broadcast
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType operand = getOperand().getType(), result = getType();
  if (static_cast<int64_t>(getDims().size()) != operand.getRank())
    return emitOpError("dims must name a result dim for each of the ")
           << operand.getRank() << " operand dims, got " << getDims().size();
  if (failed(verifyIncreasingDims(*this, "dims", getDims(), result.getRank())))
    return failure();
  for (auto [from, to] : llvm::enumerate(getDims())) {
    int64_t size = operand.getDimSize(from);
    if (size != 1 && size != result.getDimSize(to))
      return emitOpError("operand dim ")
             << from << " must have size 1 or that of result dim " << to << ", "
             << result.getDimSize(to) << ", got " << size;
  }
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? getOperand() : Value();
}

//===----------------------------------------------------------------------===//
// Reshape
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  int64_t from = getOperand().getType().getNumElements();
  int64_t to = getType().getNumElements();
  if (from != to)
    return emitOpError("result must have the operand's ")
           << from << " elements, got " << to;
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? getOperand() : Value();
}

//===----------------------------------------------------------------------===//
// Transpose
//===----------------------------------------------------------------------===//

void TransposeOp::build(OpBuilder &builder, OperationState &state,
                        Value operand, ArrayRef<int64_t> dims) {
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : dims)
    shape.push_back(type.getDimSize(dim));
  build(builder, state, type.clone(shape), operand, dims);
}

LogicalResult TransposeOp::verify() {
  RankedTensorType operand = getOperand().getType();
  if (!isPermutationVector(getDims()) ||
      static_cast<int64_t>(getDims().size()) != operand.getRank())
    return emitOpError("dims must be a permutation of the ")
           << operand.getRank() << " operand dims, got [" << getDims() << "]";
  SmallVector<ExpectedDim> expected;
  for (int64_t dim : getDims())
    expected.push_back({operand.getDimSize(dim), dimOfOperand(dim)});
  return verifyResultShape(*this, getType(), expected);
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  return isIdentity(getDims()) ? getOperand() : Value();
}

//===----------------------------------------------------------------------===//
// Reduce
//===----------------------------------------------------------------------===//

void ReduceOp::build(OpBuilder &builder, OperationState &state,
                     sharding::Reduction kind, Value operand,
                     ArrayRef<int64_t> dims) {
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(dims, dim))
      shape.push_back(type.getDimSize(dim));
  build(builder, state, type.clone(shape), kind, operand, dims);
}

LogicalResult ReduceOp::verify() {
  RankedTensorType operand = getOperand().getType();
  if (failed(verifyIncreasingDims(*this, "dims", getDims(), operand.getRank())))
    return failure();
  if (getKind() == sharding::Reduction::Sum &&
      operand.getElementType().isInteger(1))
    return emitOpError("cannot sum elements of type i1; convert them to i32 "
                       "first, or use max for \"any\" and min for \"all\"");
  SmallVector<ExpectedDim> expected;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim)
    if (!llvm::is_contained(getDims(), dim))
      expected.push_back({operand.getDimSize(dim), dimOfOperand(dim)});
  return verifyResultShape(*this, getType(), expected);
}

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

static int64_t sliceSize(int64_t start, int64_t limit, int64_t stride) {
  return llvm::divideCeil(limit - start, stride);
}

void SliceOp::build(OpBuilder &builder, OperationState &state, Value operand,
                    ArrayRef<int64_t> starts, ArrayRef<int64_t> limits,
                    ArrayRef<int64_t> strides) {
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<int64_t> shape;
  for (auto [start, limit, stride] : llvm::zip_equal(starts, limits, strides))
    shape.push_back(sliceSize(start, limit, stride));
  build(builder, state, type.clone(shape), operand, starts, limits, strides);
}

LogicalResult SliceOp::verify() {
  RankedTensorType operand = getOperand().getType();
  size_t rank = operand.getRank();
  std::pair<StringRef, size_t> lists[] = {{"starts", getStarts().size()},
                                          {"limits", getLimits().size()},
                                          {"strides", getStrides().size()}};
  for (auto [name, size] : lists)
    if (size != rank)
      return emitOpError() << name << " must have a number for each of the "
                           << rank << " operand dims, got " << size;
  SmallVector<ExpectedDim> expected;
  for (auto [dim, start, limit, stride] :
       llvm::enumerate(getStarts(), getLimits(), getStrides())) {
    int64_t size = operand.getDimSize(dim);
    if (start < 0 || start >= limit || limit > size)
      return emitOpError("dim ")
             << dim << " needs 0 <= start < limit <= " << size << ", got start "
             << start << " and limit " << limit;
    if (stride < 1)
      return emitOpError("stride of dim ")
             << dim << " must be at least 1, got " << stride;
    expected.push_back(
        {sliceSize(start, limit, stride),
         llvm::formatv("{0} to {1} by {2}", start, limit, stride).str()});
  }
  return verifyResultShape(*this, getType(), expected);
}

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

static int64_t paddedSize(int64_t size, int64_t low, int64_t high,
                          int64_t interior) {
  return low + size + std::max<int64_t>(size - 1, 0) * interior + high;
}

void PadOp::build(OpBuilder &builder, OperationState &state, Value operand,
                  ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                  ArrayRef<int64_t> interior, TypedAttr value) {
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<int64_t> shape;
  for (auto [size, before, after, between] :
       llvm::zip_equal(type.getShape(), low, high, interior))
    shape.push_back(paddedSize(size, before, after, between));
  build(builder, state, type.clone(shape), operand, low, high, interior, value);
}

LogicalResult PadOp::verify() {
  RankedTensorType operand = getOperand().getType();
  std::pair<StringRef, ArrayRef<int64_t>> lists[] = {
      {"low", getLow()}, {"high", getHigh()}, {"interior", getInterior()}};
  for (auto [name, amounts] : lists) {
    if (static_cast<int64_t>(amounts.size()) != operand.getRank())
      return emitOpError() << name << " must have a number for each of the "
                           << operand.getRank() << " operand dims, got "
                           << amounts.size();
    for (auto [dim, amount] : llvm::enumerate(amounts))
      if (amount < 0)
        return emitOpError()
               << name << " of dim " << dim << " must be at least 0, got "
               << amount << "; remove elements with weft.slice";
  }
  if (getValue().getType() != operand.getElementType())
    return emitOpError("value must have the element type ")
           << operand.getElementType() << ", got " << getValue().getType();
  SmallVector<ExpectedDim> expected;
  for (auto [size, low, high, interior] :
       llvm::zip_equal(operand.getShape(), getLow(), getHigh(), getInterior()))
    expected.push_back(
        {paddedSize(size, low, high, interior),
         llvm::formatv("{0} with {1} before, {2} after, {3} between", size, low,
                       high, interior)
             .str()});
  return verifyResultShape(*this, getType(), expected);
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? getOperand() : Value();
}

//===----------------------------------------------------------------------===//
// Concat
//===----------------------------------------------------------------------===//

void ConcatOp::build(OpBuilder &builder, OperationState &state,
                     ValueRange operands, int64_t dim) {
  auto type = cast<RankedTensorType>(operands.front().getType());
  SmallVector<int64_t> shape(type.getShape());
  for (Value operand : operands.drop_front())
    shape[dim] += cast<RankedTensorType>(operand.getType()).getDimSize(dim);
  build(builder, state, type.clone(shape), operands, dim);
}

LogicalResult ConcatOp::verify() {
  auto first = cast<RankedTensorType>(getOperands().front().getType());
  int64_t concatDim = getDim();
  if (failed(verifyDimsInRange(*this, "dim", concatDim, first.getRank())))
    return failure();
  int64_t total = 0;
  for (auto [number, operand] : llvm::enumerate(getOperands())) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (type.getRank() != first.getRank())
      return emitOpError("operand ")
             << number << " must have rank " << first.getRank()
             << " as operand 0 has, got " << type.getRank();
    for (int64_t dim = 0; dim < first.getRank(); ++dim)
      if (dim != concatDim && type.getDimSize(dim) != first.getDimSize(dim))
        return emitOpError("dim ")
               << dim << " of operand " << number << " must be "
               << first.getDimSize(dim) << " as in operand 0, got "
               << type.getDimSize(dim);
    total += type.getDimSize(concatDim);
  }
  SmallVector<ExpectedDim> expected;
  for (int64_t dim = 0; dim < first.getRank(); ++dim) {
    if (dim == concatDim)
      expected.push_back({total, "sum over the operands"});
    else
      expected.push_back({first.getDimSize(dim), dimOfOperand(dim) + "s"});
  }
  return verifyResultShape(*this, getType(), expected);
}

//===----------------------------------------------------------------------===//
// Iota
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  if (getType().getElementType().isInteger(1))
    return emitOpError("cannot count in elements of type i1");
  return verifyDimsInRange(*this, "dim", static_cast<int64_t>(getDim()),
                           getType().getRank());
}
