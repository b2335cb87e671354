//===- Convolution.cpp - Convolutions and their derivatives ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dims.h"
#include "ShapeChecks.h"
#include "weft/IR/NarrowFloats.h"
#include "weft/IR/VjpBuilder.h"
#include "weft/IR/WindowOps.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// No product of two overflows.
static constexpr int64_t mostOfWindow = int64_t(1) << 30;

static LogicalResult verifyWindow(ConvolutionOp op, int64_t rank) {
  std::pair<StringRef, ArrayRef<int64_t>> lists[] = {
      {"strides", op.getStrides()},
      {"low", op.getLow()},
      {"high", op.getHigh()},
      {"lhs_dilation", op.getLhsDilation()},
      {"rhs_dilation", op.getRhsDilation()}};
  for (auto [name, list] : lists) {
    if (static_cast<int64_t>(list.size()) != rank)
      return op.emitOpError() << name << " must have a number for each of the "
                              << rank << " spatial dims, got " << list.size();
    bool isPadding = name == "low" || name == "high";
    for (int64_t number : list)
      if (!isPadding && number < 1)
        return op.emitOpError()
               << name << " must be at least 1, got " << number;
      else if (std::abs(number) >= mostOfWindow)
        return op.emitOpError() << name << " must be less than " << mostOfWindow
                                << ", got " << number;
  }
  return success();
}

static LogicalResult verifyFeatures(ConvolutionOp op, int64_t rank) {
  RankedTensorType lhs = op.getLhs().getType();
  int64_t groups = op.getGroups();
  int64_t given = lhs.getDimSize(rank + 1),
          inputFeatures = op.getRhs().getType().getDimSize(rank),
          outputFeatures = op.getRhs().getType().getDimSize(rank + 1);
  if (groups < 1)
    return op.emitOpError("groups must be at least 1, got ") << groups;
  if (op.hasGroupsApart()) {
    if (given != groups || lhs.getDimSize(rank + 2) != inputFeatures)
      return op.emitOpError("lhs must have the groups, ")
             << groups << ", and the features of the kernel, " << inputFeatures
             << ", as its last dims, got " << given << " and "
             << lhs.getDimSize(rank + 2);
  } else if (given != groups * inputFeatures) {
    return op.emitOpError("lhs must have the features of the kernel, ")
           << inputFeatures << ", for each of " << groups << " groups, got "
           << given;
  }
  if (outputFeatures % groups != 0)
    return op.emitOpError("the result's features must be divisible by the ")
           << groups << " groups, got " << outputFeatures;
  return success();
}

LogicalResult ConvolutionOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  bool mayBeApart = getGroups() > 1 && lhs.getRank() == rhs.getRank() + 1;
  if (rhs.getRank() < 2 || (lhs.getRank() != rhs.getRank() && !mayBeApart))
    return emitOpError("operands must have one rank of at least 2, got ")
           << lhs.getRank() << " and " << rhs.getRank();
  for (RankedTensorType type : {lhs, rhs})
    if (type.getNumElements() == 0)
      return emitOpError("operands must have elements, got ") << type;
  int64_t rank = rhs.getRank() - 2;
  if (failed(verifyWindow(*this, rank)) || failed(verifyFeatures(*this, rank)))
    return failure();
  Type element = lhs.getElementType(), sum = getType().getElementType();
  if (element != rhs.getElementType())
    return emitOpError("operands must have one element type, got ")
           << element << " and " << rhs.getElementType();
  if (sum != element &&
      sum.getIntOrFloatBitWidth() <= element.getIntOrFloatBitWidth())
    return emitOpError("result element type must be ")
           << element << " or a wider one, got " << sum;
  SmallVector<ExpectedDim> expected = {{lhs.getDimSize(0), "dim 0 of lhs"}};
  for (int64_t i = 0; i < rank; ++i) {
    int64_t room = dilated(lhs.getDimSize(i + 1), getLhsDilation()[i]) +
                   getLow()[i] + getHigh()[i];
    int64_t window = dilated(rhs.getDimSize(i), getRhsDilation()[i]);
    if (room < window)
      return emitOpError("the window of spatial dim ")
             << i << " spans " << window << " elements, but lhs has " << room;
    expected.push_back({(room - window) / getStrides()[i] + 1, "its windows"});
  }
  expected.push_back({rhs.getDimSize(rank + 1), "the last dim of rhs"});
  return verifyResultShape(*this, getType(), expected);
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

/// Takes the elements of a dimension from the last to the first.
static Value reversed(Value x, int64_t dim, TensorBuilder &b) {
  int64_t size = typeOf(x).getDimSize(dim);
  if (size == 1)
    return x;
  sharding::ElementMap map{{size}, {size}, {{size - 1, 0, size, -1}}};
  return RearrangeOp::create(b, x.getType(), x, dim,
                             ElementMapAttr::get(b.getContext(), map),
                             TypedAttr());
}

/// Splits dimension `dim` by groups and swaps its part of a group with
/// dimension `other`, so that the groups keep their place. `apart`: they stay a
/// dimension.
static Value swapWithinGroups(Value x, int64_t dim, int64_t other,
                              int64_t groups, bool apart, TensorBuilder &b) {
  Dims shape = shapeOf(x);
  shape[dim] = groups;
  shape.insert(shape.begin() + dim + 1, typeOf(x).getDimSize(dim) / groups);
  Value split = b.createOrFold<ReshapeOp>(typeOf(x).clone(shape), x);
  Dims order = dimRange(0, shape.size());
  std::swap(order[dim + 1], order[other]);
  Value swapped = b.createOrFold<TransposeOp>(split, order);
  if (apart)
    return swapped;
  Dims joined = shapeOf(swapped);
  joined[dim] *= joined[dim + 1];
  joined.erase(joined.begin() + dim + 1);
  return b.createOrFold<ReshapeOp>(typeOf(x).clone(joined), swapped);
}

/// dlhs is a convolution of g, spread out by the strides, with the kernel
/// turned around; drhs one of lhs with g as the kernel, in which the features
/// of lhs take the place of the batch.
void ConvolutionOp::buildVjp(VjpBuilder &b) {
  Value x = getLhs();
  if (hasGroupsApart()) {
    Dims joined = shapeOf(x);
    int64_t features = joined.pop_back_val();
    joined.back() *= features;
    x = b.createOrFold<ReshapeOp>(typeOf(x).clone(joined), x);
  }
  RankedTensorType lhs = typeOf(x), rhs = getRhs().getType();
  int64_t rank = getStrides().size(), groups = getGroups();
  Value g = b.convert(b.getCotangent(), lhs.getElementType());
  Dims lowOfLhs, highOfLhs, highOfRhs;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t room = dilated(lhs.getDimSize(i + 1), getLhsDilation()[i]);
    int64_t window = dilated(rhs.getDimSize(i), getRhsDilation()[i]);
    int64_t steps = dilated(getType().getDimSize(i + 1), getStrides()[i]);
    lowOfLhs.push_back(window - getLow()[i] - 1);
    highOfLhs.push_back(room + window - 1 - steps - lowOfLhs.back());
    highOfRhs.push_back(steps - room + window - getLow()[i] - 1);
  }
  if (b.wants(0)) {
    Value w = getRhs();
    for (int64_t i = 0; i < rank; ++i)
      w = reversed(w, i, b);
    w = swapWithinGroups(w, rank + 1, rank, groups, /*apart=*/false, b);
    Value r = ConvolutionOp::create(b, lhs, g, w, getLhsDilation(), lowOfLhs,
                                    highOfLhs, getStrides(), getRhsDilation(),
                                    groups);
    b.addCotangent(0, b.createOrFold<ReshapeOp>(getLhs().getType(), r));
  }
  if (!b.wants(1))
    return;
  x = swapWithinGroups(x, rank + 1, 0, groups, /*apart=*/groups > 1, b);
  Dims first = dimRange(1, rank);
  first.append({0, rank + 1});
  Value kernel = b.createOrFold<TransposeOp>(g, first);
  Dims shape = {rhs.getDimSize(rank)};
  llvm::append_range(shape, rhs.getShape().take_front(rank));
  shape.push_back(rhs.getDimSize(rank + 1));
  Value r = ConvolutionOp::create(b, rhs.clone(shape), x, kernel,
                                  getRhsDilation(), getLow(), highOfRhs,
                                  getLhsDilation(), getStrides(), groups);
  Dims back = dimRange(1, rank);
  back.append({0, rank + 1});
  b.addCotangent(1, b.createOrFold<TransposeOp>(r, back));
}
