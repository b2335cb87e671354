//===- DotGeneralOp.cpp - Batched matmul ----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"
#include "weft/IR/WeftOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft;

static SmallVector<int64_t> freeDims(int64_t rank, ArrayRef<int64_t> batching,
                                     ArrayRef<int64_t> contracting) {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(batching, dim) &&
        !llvm::is_contained(contracting, dim))
      dims.push_back(dim);
  return dims;
}

SmallVector<int64_t> DotGeneralOp::getLhsFree() {
  return freeDims(getLhs().getType().getRank(), getLhsBatching(),
                  getLhsContracting());
}

SmallVector<int64_t> DotGeneralOp::getRhsFree() {
  return freeDims(getRhs().getType().getRank(), getRhsBatching(),
                  getRhsContracting());
}

void DotGeneralOp::build(OpBuilder &builder, OperationState &state, Value lhs,
                         Value rhs, ArrayRef<int64_t> lhsBatching,
                         ArrayRef<int64_t> rhsBatching,
                         ArrayRef<int64_t> lhsContracting,
                         ArrayRef<int64_t> rhsContracting) {
  auto lhsType = cast<RankedTensorType>(lhs.getType());
  auto rhsType = cast<RankedTensorType>(rhs.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : lhsBatching)
    shape.push_back(lhsType.getDimSize(dim));
  for (int64_t dim : freeDims(lhsType.getRank(), lhsBatching, lhsContracting))
    shape.push_back(lhsType.getDimSize(dim));
  for (int64_t dim : freeDims(rhsType.getRank(), rhsBatching, rhsContracting))
    shape.push_back(rhsType.getDimSize(dim));
  build(builder, state, lhsType.clone(shape), lhs, rhs, lhsBatching,
        rhsBatching, lhsContracting, rhsContracting, TypeAttr());
}

/// The two lists of one side name each dimension once.
static LogicalResult verifySide(DotGeneralOp op, StringRef side,
                                ArrayRef<int64_t> batching,
                                ArrayRef<int64_t> contracting, int64_t rank) {
  std::string batchingName = (side + " batching").str();
  std::string contractingName = (side + " contracting").str();
  if (failed(verifyDimsInRange(op, batchingName, batching, rank)) ||
      failed(verifyDimsInRange(op, contractingName, contracting, rank)))
    return failure();
  llvm::SmallBitVector used(rank);
  for (int64_t dim : llvm::concat<const int64_t>(batching, contracting)) {
    if (used.test(dim))
      return op.emitOpError() << side << " dim " << dim
                              << " is named twice among batching and "
                                 "contracting dims";
    used.set(dim);
  }
  return success();
}

/// Paired dimensions have equal sizes.
static LogicalResult verifyPairs(DotGeneralOp op, StringRef what,
                                 ArrayRef<int64_t> lhsDims,
                                 ArrayRef<int64_t> rhsDims) {
  if (lhsDims.size() != rhsDims.size())
    return op.emitOpError()
           << what << " must name as many dims of lhs as of rhs, got "
           << lhsDims.size() << " and " << rhsDims.size();
  for (auto [lhsDim, rhsDim] : llvm::zip_equal(lhsDims, rhsDims)) {
    int64_t lhsSize = op.getLhs().getType().getDimSize(lhsDim);
    int64_t rhsSize = op.getRhs().getType().getDimSize(rhsDim);
    if (lhsSize != rhsSize)
      return op.emitOpError()
             << what << " pairs lhs dim " << lhsDim << " of size " << lhsSize
             << " with rhs dim " << rhsDim << " of size " << rhsSize;
  }
  return success();
}

/// Whether `type` is `narrow` or a wider type of the same kind.
static bool isSameOrWider(Type type, Type narrow) {
  if (type == narrow)
    return true;
  bool isSameKind = (isa<FloatType>(type) && isa<FloatType>(narrow)) ||
                    (isa<IntegerType>(type) && isa<IntegerType>(narrow));
  return isSameKind &&
         type.getIntOrFloatBitWidth() > narrow.getIntOrFloatBitWidth();
}

static LogicalResult verifyElementTypes(DotGeneralOp op) {
  Type lhs = op.getLhs().getType().getElementType();
  Type rhs = op.getRhs().getType().getElementType();
  Type result = op.getType().getElementType();
  if (lhs != rhs)
    return op.emitOpError() << "operands must have one element type, got "
                            << lhs << " and " << rhs;
  if (lhs.isInteger(1))
    return op.emitOpError(
        "cannot sum products of type i1; convert the operands to i32 first");
  if (!isSameOrWider(result, lhs))
    return op.emitOpError() << "result element type must be " << lhs
                            << " or a wider one of its kind, got " << result;
  if (std::optional<Type> accumulation = op.getAccumulationType())
    if (!isSameOrWider(*accumulation, lhs))
      return op.emitOpError()
             << "accumulation_type must be " << lhs
             << " or a wider one of its kind, got " << *accumulation;
  return success();
}

LogicalResult DotGeneralOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  if (failed(verifySide(*this, "lhs", getLhsBatching(), getLhsContracting(),
                        lhs.getRank())) ||
      failed(verifySide(*this, "rhs", getRhsBatching(), getRhsContracting(),
                        rhs.getRank())) ||
      failed(
          verifyPairs(*this, "batching", getLhsBatching(), getRhsBatching())) ||
      failed(verifyPairs(*this, "contracting", getLhsContracting(),
                         getRhsContracting())) ||
      failed(verifyElementTypes(*this)))
    return failure();

  SmallVector<ExpectedDim> expected;
  auto expect = [&](RankedTensorType type, StringRef side,
                    ArrayRef<int64_t> dims) {
    for (int64_t dim : dims)
      expected.push_back(
          {type.getDimSize(dim), ("dim " + Twine(dim) + " of " + side).str()});
  };
  expect(lhs, "lhs", getLhsBatching());
  expect(lhs, "lhs", getLhsFree());
  expect(rhs, "rhs", getRhsFree());
  return verifyResultShape(*this, getType(), expected);
}
