//===- ReduceWindow.cpp - Sums and extrema of windows ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slice k of the operand has element k of each window. Kernels combine slices
// as they read them; one window over the whole dimension is a reduction.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/VjpBuilder.h"
#include "weft/IR/WindowOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;
using sharding::Reduction;

using Dims = SmallVector<int64_t>;

LogicalResult ReduceWindowOp::verify() {
  RankedTensorType operand = getOperand().getType();
  int64_t dim = getDim();
  if (failed(verifyDimsInRange(*this, "dim", dim, operand.getRank())))
    return failure();
  for (auto [name, number] : {std::pair<StringRef, int64_t>{"size", getSize()},
                              {"stride", getStride()},
                              {"dilation", getDilation()}})
    if (number < 1)
      return emitOpError() << name << " must be at least 1, got " << number;
  int64_t span = (static_cast<int64_t>(getSize()) - 1) *
                     static_cast<int64_t>(getDilation()) +
                 1;
  int64_t room = operand.getDimSize(dim);
  if (span > room)
    return emitOpError("a window spans ")
           << span << " elements, but dim " << dim << " has " << room;
  if (operand.getElementType() != getType().getElementType())
    return emitOpError("result must have the element type of the operand, ")
           << operand.getElementType() << ", got "
           << getType().getElementType();
  SmallVector<ExpectedDim> expected;
  for (int64_t size : operand.getShape())
    expected.push_back({size, "as the operand's"});
  expected[dim] = {(room - span) / static_cast<int64_t>(getStride()) + 1,
                   "its windows"};
  return verifyResultShape(*this, getType(), expected);
}

/// Element k of each of `count` windows.
static Value elementOfWindows(TensorBuilder &b, Value x, const Windows &windows,
                              int64_t k, int64_t count) {
  Dims starts(typeOf(x).getRank(), 0), limits(typeOf(x).getShape()),
      strides(starts.size(), 1);
  starts[windows.dim] = k * windows.dilation;
  limits[windows.dim] = starts[windows.dim] + (count - 1) * windows.stride + 1;
  strides[windows.dim] = windows.stride;
  return SliceOp::create(b, x, starts, limits, strides);
}

static Value combine(TensorBuilder &b, Reduction kind, Value x, Value y) {
  switch (kind) {
  case Reduction::Sum:
    return b.add(x, y);
  case Reduction::Max:
    return arith::MaximumFOp::create(b, x, y);
  case Reduction::Min:
    return arith::MinimumFOp::create(b, x, y);
  }
  llvm_unreachable("all reductions are covered");
}

SmallVector<Value> ReduceWindowOp::decompose(TensorBuilder &b) {
  Windows windows{int64_t(getDim()), int64_t(getSize()), int64_t(getStride()),
                  int64_t(getDilation())};
  Value x = getOperand();
  Type element = getType().getElementType();
  if (getKind() == Reduction::Sum && !element.isF64())
    x = b.convert(x, b.getF32Type());
  int64_t count = getType().getDimSize(windows.dim);
  if (windows.size == typeOf(x).getDimSize(windows.dim)) {
    Value r = ReduceOp::create(b, getKind(), x, windows.dim);
    RankedTensorType type = getType().clone(typeOf(r).getElementType());
    return {b.convert(b.createOrFold<ReshapeOp>(type, r), element)};
  }
  Value r;
  for (int64_t k = 0; k < windows.size; ++k) {
    Value next = elementOfWindows(b, x, windows, k, count);
    r = r ? combine(b, getKind(), r, next) : next;
  }
  return {b.convert(r, element)};
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

/// `g`, elements k of the windows of a tensor of `type`, where they are in it.
static Value putBack(TensorBuilder &b, Value g, RankedTensorType type,
                     const Windows &windows, int64_t k) {
  Dims low(type.getRank(), 0), high(low), interior(low);
  int64_t dim = windows.dim, count = typeOf(g).getDimSize(dim);
  low[dim] = k * windows.dilation;
  high[dim] =
      type.getDimSize(dim) - low[dim] - (count - 1) * windows.stride - 1;
  interior[dim] = windows.stride - 1;
  return b.createOrFold<PadOp>(g, low, high, interior,
                               FloatAttr::get(type.getElementType(), 0));
}

/// `parts`, elements 0, 1, ... of windows that lie behind each other, in a
/// tensor of `type`.
static Value interleave(TensorBuilder &b, ArrayRef<Value> parts,
                        RankedTensorType type, int64_t dim) {
  Dims shape(typeOf(parts.front()).getShape());
  shape.insert(shape.begin() + dim + 1, 1);
  SmallVector<Value> columns;
  for (Value part : parts)
    columns.push_back(
        b.createOrFold<ReshapeOp>(typeOf(part).clone(shape), part));
  Value all = columns.front();
  if (columns.size() > 1)
    all = ConcatOp::create(b, columns, dim + 1);
  Dims joined(typeOf(parts.front()).getShape());
  joined[dim] *= parts.size();
  all = b.createOrFold<ReshapeOp>(typeOf(all).clone(joined), all);
  Dims low(type.getRank(), 0), high(low);
  high[dim] = type.getDimSize(dim) - joined[dim];
  return b.createOrFold<PadOp>(all, low, high, low,
                               FloatAttr::get(type.getElementType(), 0));
}

Value weft::spreadOverWindows(TensorBuilder &b, Value x, Value g,
                              const Windows &windows, Value extremum) {
  RankedTensorType type = typeOf(x);
  int64_t count = typeOf(g).getDimSize(windows.dim);
  Value isFree;
  SmallVector<Value> parts;
  for (int64_t k = 0; k < windows.size; ++k) {
    if (!extremum) {
      parts.push_back(g);
      continue;
    }
    Value isFirst =
        b.equal(elementOfWindows(b, x, windows, k, count), extremum);
    if (isFree)
      isFirst = arith::AndIOp::create(b, isFirst, isFree);
    parts.push_back(b.keepWhere(isFirst, g));
    if (k + 1 == windows.size)
      break;
    Value yes = arith::ConstantOp::create(
        b, DenseElementsAttr::get(cast<ShapedType>(isFirst.getType()), true));
    Value isNot = arith::XOrIOp::create(b, isFirst, yes);
    isFree =
        isFree ? arith::AndIOp::create(b, isFree, isNot).getResult() : isNot;
  }
  if (windows.size == windows.stride && windows.dilation == 1)
    return interleave(b, parts, type, windows.dim);
  Value sum;
  for (auto [k, part] : llvm::enumerate(parts)) {
    Value back = putBack(b, part, type, windows, k);
    sum = sum ? b.add(sum, back) : back;
  }
  return sum;
}

void ReduceWindowOp::buildVjp(VjpBuilder &b) {
  Windows windows{int64_t(getDim()), int64_t(getSize()), int64_t(getStride()),
                  int64_t(getDilation())};
  bool isSum = getKind() == Reduction::Sum;
  Type element = getType().getElementType();
  Type wide = element.isF64() ? element : b.getF32Type();
  // What windows share is added up before it is rounded.
  Value x = b.convert(getOperand(), wide);
  Value r = spreadOverWindows(b, x, b.convert(b.getCotangent(), wide), windows,
                              isSum ? Value() : b.convert(getResult(), wide));
  b.addCotangent(0, b.convert(r, element));
}
