//===- ConvolveOp.cpp - Verifier of convolve ------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/WeftOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;

namespace {

/// A dimension of one of the tensors in memory.
struct Extent {
  int64_t stride, size;
  bool operator<(const Extent &other) const {
    return std::pair(stride, size) < std::pair(other.stride, other.size);
  }
};
using Extents = SmallVector<Extent>;

} // namespace

/// The dimensions of a tensor; none after an error.
static FailureOr<Extents> verifyTensor(ConvolveOp op, StringRef name,
                                       RankedTensorType type,
                                       ArrayRef<int64_t> features,
                                       ArrayRef<int64_t> spatial,
                                       ArrayRef<int64_t> layout) {
  SmallVector<int64_t> sizes(features);
  llvm::append_range(sizes, spatial);
  if (!type.getElementType().isF32())
    return op.emitOpError() << name << " must have elements of f32, got "
                            << type.getElementType();
  if (layout.size() != sizes.size())
    return op.emitOpError() << name << " must have " << sizes.size()
                            << " strides, got " << layout.size();
  Extents extents;
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip_equal(sizes, layout)) {
    int64_t reach = 0;
    if (size < 1 || stride < 0 || llvm::MulOverflow(size - 1, stride, reach) ||
        llvm::AddOverflow(last, reach, last) || last >= type.getNumElements())
      return op.emitOpError()
             << name << " with sizes [" << sizes << "] and strides [" << layout
             << "] does not fit " << type;
    if (size != 1)
      extents.push_back({stride, size});
  }
  return extents;
}

/// Whether each element is that of one index.
static bool coversEachElementOnce(Extents extents, int64_t elements) {
  llvm::sort(extents);
  int64_t covered = 1;
  for (auto [stride, size] : extents) {
    if (stride != covered)
      return false;
    covered *= size;
  }
  return covered == elements;
}

LogicalResult ConvolveOp::verify() {
  size_t rank = getLhsSizes().size();
  if (rank > maxSpatialDims)
    return emitOpError("must have at most ")
           << maxSpatialDims << " spatial dims, got " << rank;
  for (ArrayRef<int64_t> list : {getRhsSizes(), getOutSizes(), getStrides(),
                                 getLow(), getLhsDilation(), getRhsDilation()})
    if (list.size() != rank)
      return emitOpError("must have a number for each of the ")
             << rank << " spatial dims in every list, got " << list.size();
  for (ArrayRef<int64_t> list :
       {getStrides(), getLhsDilation(), getRhsDilation()})
    for (int64_t number : list)
      if (number < 1)
        return emitOpError("strides and dilations must be at least 1, got ")
               << number;
  int64_t groups = getGroups(), batch = getBatch(),
          inputFeatures = getInputFeatures(),
          outputFeatures = getOutputFeatures();
  RankedTensorType type = getType();
  if (failed(verifyTensor(*this, "lhs", getLhs().getType(),
                          {groups, batch, inputFeatures}, getLhsSizes(),
                          getLhsLayout())) ||
      failed(verifyTensor(*this, "rhs", getRhs().getType(),
                          {groups, inputFeatures, outputFeatures},
                          getRhsSizes(), getRhsLayout())))
    return failure();
  FailureOr<Extents> out =
      verifyTensor(*this, "the result", type, {groups, batch, outputFeatures},
                   getOutSizes(), getOutLayout());
  if (failed(out))
    return failure();
  if (!coversEachElementOnce(*out, type.getNumElements()))
    return emitOpError("layout of the result must write every element of ")
           << type << " once, got [" << getOutLayout() << "]";
  return success();
}
