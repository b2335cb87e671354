//===- ShapeChecks.cpp - Dimensions and result shapes ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

using namespace mlir;
using namespace weft;

LogicalResult weft::verifyResultShape(Operation *op, RankedTensorType type,
                                      ArrayRef<ExpectedDim> expected) {
  if (type.getRank() != static_cast<int64_t>(expected.size()))
    return op->emitOpError("result must have rank ")
           << expected.size() << ", got " << type.getRank();
  for (auto [dim, want] : llvm::enumerate(expected)) {
    int64_t got = type.getDimSize(dim);
    if (got == want.size)
      continue;
    InFlightDiagnostic error = op->emitOpError("result dim ")
                               << dim << " must be " << want.size;
    if (!want.reason.empty())
      error << " (" << want.reason << ")";
    return error << ", got " << got;
  }
  return success();
}

LogicalResult weft::verifyDimsInRange(Operation *op, StringRef name,
                                      ArrayRef<int64_t> dims, int64_t rank) {
  for (int64_t dim : dims)
    if (dim < 0 || dim >= rank)
      return op->emitOpError() << name << " has dim " << dim
                               << " but the tensor has rank " << rank;
  return success();
}

LogicalResult weft::verifyIncreasingDims(Operation *op, StringRef name,
                                         ArrayRef<int64_t> dims, int64_t rank) {
  if (failed(verifyDimsInRange(op, name, dims, rank)))
    return failure();
  for (size_t i = 1; i < dims.size(); ++i)
    if (dims[i - 1] >= dims[i])
      return op->emitOpError() << name << " must be strictly increasing, got "
                               << dims[i] << " after " << dims[i - 1];
  return success();
}

LogicalResult weft::verifyElementMap(Operation *op, ElementMapAttr map,
                                     int64_t members, RankedTensorType operand,
                                     RankedTensorType result, int64_t dim) {
  if (std::string problem = map.toMap().check(members); !problem.empty())
    return op->emitOpError(problem);
  int64_t before = 0, after = 0;
  for (int64_t part : map.getFrom())
    before += part;
  for (int64_t part : map.getTo())
    after += part;
  if (before != operand.getDimSize(dim))
    return op->emitOpError("the map takes ")
           << before << " elements of dim " << dim << ", the operand has "
           << operand.getDimSize(dim);
  SmallVector<ExpectedDim> expected;
  for (int64_t size : operand.getShape())
    expected.push_back({size, "as the operand's"});
  expected[dim] = {after, "the parts of the map"};
  return verifyResultShape(op, result, expected);
}
