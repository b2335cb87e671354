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

#include "Dims.h"
#include "ShapeChecks.h"
#include "weft/IR/NeutralElement.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/VjpBuilder.h"
#include "weft/IR/WindowOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;
using sharding::Reduction;

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Of windows of a dimension with as many elements.
static LogicalResult verifyWindows(Operation *op, const Windows &windows,
                                   RankedTensorType type) {
  if (failed(verifyDimsInRange(op, "dim", windows.dim, type.getRank())))
    return failure();
  for (auto [name, number] :
       {std::pair<StringRef, int64_t>{"size", windows.size},
        {"stride", windows.stride},
        {"dilation", windows.dilation}})
    if (number < 1)
      return op->emitOpError() << name << " must be at least 1, got " << number;
  if (type.getNumElements() == 0)
    return op->emitOpError("windows must be of elements, got ") << type;
  int64_t room = type.getDimSize(windows.dim) + windows.low + windows.high;
  if (windows.span() > room)
    return op->emitOpError("a window spans ")
           << windows.span() << " elements, but dim " << windows.dim << " has "
           << room;
  return success();
}

/// Whether `type` has an element for each window of one like `operand`.
static LogicalResult verifyCounts(Operation *op, StringRef name,
                                  const Windows &windows,
                                  RankedTensorType operand,
                                  RankedTensorType type) {
  if (operand.getElementType() != type.getElementType())
    return op->emitOpError() << name << " must have the element type of the "
                             << "operand, " << operand.getElementType()
                             << ", got " << type.getElementType();
  SmallVector<ExpectedDim> expected;
  for (int64_t size : operand.getShape())
    expected.push_back({size, "as the operand's"});
  expected[windows.dim] = {windows.count(operand.getDimSize(windows.dim)),
                           "its windows"};
  return verifyResultShape(op, type, expected);
}

LogicalResult ReduceWindowOp::verify() {
  RankedTensorType operand = getOperand().getType();
  Windows windows = windowsOf(*this);
  if (failed(verifyWindows(*this, windows, operand)))
    return failure();
  return verifyCounts(*this, "result", windows, operand, getType());
}

LogicalResult SpreadWindowsOp::verify() {
  Windows windows = windowsOf(*this);
  if (failed(verifyWindows(*this, windows, getType())))
    return failure();
  SmallVector<int64_t> shape(getType().getShape());
  shape[windows.dim] = windows.count(shape[windows.dim]);
  RankedTensorType made = getType().clone(shape);
  if (!getOf().empty() && getOf().size() != 2)
    return emitOpError("needs none or both of what windows are of and their "
                       "extrema, got ")
           << getOf().size() << " of them";
  for (Value value : {Value(getG()), getExtremum()})
    if (value && value.getType() != made)
      return emitOpError(
                 "g and extremum must have an element for each window, ")
             << made << ", got " << value.getType();
  if (getOperand() && getOperand().getType() != getType())
    return emitOpError("the result must have the type of what windows are of, ")
           << getOperand().getType() << ", got " << getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Elements of windows
//===----------------------------------------------------------------------===//

/// Elements [start, start + size) of a dimension, where `value` lies outside.
static Value framed(TensorBuilder &b, Value x, int64_t dim, int64_t start,
                    int64_t size, TypedAttr value) {
  int64_t rank = typeOf(x).getRank(), held = typeOf(x).getDimSize(dim);
  int64_t begin = std::clamp<int64_t>(start, 0, held),
          end = std::clamp<int64_t>(start + size, 0, held);
  if (begin >= end) {
    Dims shape(typeOf(x).getShape());
    shape[dim] = size;
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(typeOf(x).clone(shape), Attribute(value)));
  }
  Dims starts(rank, 0), limits(typeOf(x).getShape()), strides(rank, 1);
  starts[dim] = begin;
  limits[dim] = end;
  if (begin != 0 || end != held)
    x = SliceOp::create(b, x, starts, limits, strides);
  Dims low(rank, 0), high(rank, 0), interior(rank, 0);
  low[dim] = begin - start;
  high[dim] = start + size - end;
  return b.createOrFold<PadOp>(x, low, high, interior, value);
}

/// x with the elements that the windows add; with those that change nothing.
static Value framed(TensorBuilder &b, Value x, const Windows &windows,
                    Reduction kind) {
  if (windows.low == 0 && windows.high == 0)
    return x;
  int64_t size = typeOf(x).getDimSize(windows.dim);
  return framed(b, x, windows.dim, -windows.low,
                windows.low + size + windows.high,
                neutralElement(typeOf(x).getElementType(), kind));
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
  Windows windows = windowsOf(*this);
  Value x = getOperand();
  Type element = getType().getElementType();
  if (getKind() == Reduction::Sum && !element.isF64())
    x = b.convert(x, b.getF32Type());
  x = framed(b, x, windows, getKind());
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
  Value all;
  if (llvm::all_equal(parts)) {
    Dims dims = dimRange(0, shape.size());
    dims.erase(dims.begin() + dim + 1);
    shape[dim + 1] = parts.size();
    RankedTensorType repeated = typeOf(parts.front()).clone(shape);
    all = b.createOrFold<BroadcastOp>(repeated, parts.front(), dims);
  } else {
    SmallVector<Value> columns;
    for (Value part : parts)
      columns.push_back(
          b.createOrFold<ReshapeOp>(typeOf(part).clone(shape), part));
    all = ConcatOp::create(b, columns, dim + 1);
  }
  Dims joined(typeOf(parts.front()).getShape());
  joined[dim] *= parts.size();
  all = b.createOrFold<ReshapeOp>(typeOf(all).clone(joined), all);
  Dims low(type.getRank(), 0), high(low);
  high[dim] = type.getDimSize(dim) - joined[dim];
  return b.createOrFold<PadOp>(all, low, high, low,
                               FloatAttr::get(type.getElementType(), 0));
}

/// By element k of the windows, whether it is the first that is the extremum.
static SmallVector<Value> findFirst(TensorBuilder &b, Value x, Value extremum,
                                    const Windows &windows) {
  int64_t count = typeOf(extremum).getDimSize(windows.dim);
  SmallVector<Value> first;
  Value isFree;
  for (int64_t k = 0; k < windows.size; ++k) {
    Value isFirst =
        b.equal(elementOfWindows(b, x, windows, k, count), extremum);
    if (isFree)
      isFirst = arith::AndIOp::create(b, isFirst, isFree);
    first.push_back(isFirst);
    if (k + 1 == windows.size)
      break;
    Value yes = arith::ConstantOp::create(
        b, DenseElementsAttr::get(cast<ShapedType>(isFirst.getType()), true));
    Value isNot = arith::XOrIOp::create(b, isFirst, yes);
    isFree =
        isFree ? arith::AndIOp::create(b, isFree, isNot).getResult() : isNot;
  }
  return first;
}

/// x with what windows add: as for the maxima, so that both take the same, and
/// no minimum.
static Value framedForExtrema(TensorBuilder &b, Value x,
                              const Windows &windows) {
  return framed(b, x, windows, Reduction::Max);
}

SmallVector<Value> SpreadWindowsOp::decompose(TensorBuilder &b) {
  Windows windows = windowsOf(*this);
  Value g = getG();
  RankedTensorType type = getType();
  Dims shape(type.getShape());
  shape[windows.dim] += windows.low + windows.high;
  RankedTensorType covered = type.clone(shape);
  SmallVector<Value> parts(windows.size, g);
  if (getOperand()) {
    Value x = framedForExtrema(b, getOperand(), windows);
    for (auto [part, isFirst] :
         llvm::zip_equal(parts, findFirst(b, x, getExtremum(), windows)))
      part = b.keepWhere(isFirst, g);
  }
  Value sum;
  if (windows.size == windows.stride && windows.dilation == 1) {
    sum = interleave(b, parts, covered, windows.dim);
  } else {
    for (auto [k, part] : llvm::enumerate(parts)) {
      Value back = putBack(b, part, covered, windows, k);
      sum = sum ? b.add(sum, back) : back;
    }
  }
  if (windows.low == 0 && windows.high == 0)
    return {sum};
  return {framed(b, sum, windows.dim, windows.low, type.getDimSize(windows.dim),
                 FloatAttr::get(type.getElementType(), 0))};
}

Value weft::spreadOverWindows(TensorBuilder &b, Value x, Value g,
                              const Windows &windows, Value extremum) {
  SmallVector<Value, 2> of;
  if (extremum)
    of = {x, extremum};
  return SpreadWindowsOp::create(b, typeOf(x), g, of, windows.dim, windows.size,
                                 windows.stride, windows.dilation, windows.low,
                                 windows.high);
}

/// The cotangent of g is that of the elements to which each window adds.
void SpreadWindowsOp::buildVjp(VjpBuilder &b) {
  Windows windows = windowsOf(*this);
  Value g = b.getCotangent();
  if (!getOperand()) {
    b.addCotangent(
        0, ReduceWindowOp::create(b, getG().getType(), Reduction::Sum, g,
                                  windows.dim, windows.size, windows.stride,
                                  windows.dilation, windows.low, windows.high));
    return;
  }
  Value x = framedForExtrema(b, getOperand(), windows);
  g = framed(b, g, windows, Reduction::Sum);
  int64_t count = getG().getType().getDimSize(windows.dim);
  Value sum;
  for (auto [k, isFirst] :
       llvm::enumerate(findFirst(b, x, getExtremum(), windows))) {
    Value part =
        b.keepWhere(isFirst, elementOfWindows(b, g, windows, k, count));
    sum = sum ? b.add(sum, part) : part;
  }
  b.addCotangent(0, sum);
}

void ReduceWindowOp::buildVjp(VjpBuilder &b) {
  Windows windows = windowsOf(*this);
  bool isSum = getKind() == Reduction::Sum;
  Type element = getType().getElementType();
  Type wide = element.isF64() ? element : b.getF32Type();
  // What windows share is added up before it is rounded.
  Value x = b.convert(getOperand(), wide);
  Value r = spreadOverWindows(b, x, b.convert(b.getCotangent(), wide), windows,
                              isSum ? Value() : b.convert(getResult(), wide));
  b.addCotangent(0, b.convert(r, element));
}
