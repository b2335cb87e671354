//===- GatherOps.cpp - Elements at given indices --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builders and verifiers of gather and scatter_add. Both are checked by the
// same code: they relate the same three tensors.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"
#include "weft/IR/WeftOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

SmallVector<int64_t> GatherDims::getIndexDims() const {
  SmallVector<int64_t> dims;
  for (int64_t indexDim = 0; indexDim < indicesRank; ++indexDim)
    if (!llvm::is_contained(indicesBatching, indexDim))
      dims.push_back(indexDim);
  return dims;
}

/// Number of dimensions that take the place of `dim`.
static int64_t countIndexDims(const GatherDims &dims) {
  return dims.indicesRank - static_cast<int64_t>(dims.indicesBatching.size());
}

int64_t GatherDims::getTakenRank() const {
  return tableRank - 1 + countIndexDims(*this);
}

int64_t GatherDims::getTakenDim(int64_t tableDim) const {
  return tableDim < dim ? tableDim : tableDim - 1 + countIndexDims(*this);
}

SmallVector<int64_t> GatherDims::getTakenDimsOfIndices() const {
  SmallVector<int64_t> dims(indicesRank);
  for (auto [position, indexDim] : llvm::enumerate(getIndexDims()))
    dims[indexDim] = dim + static_cast<int64_t>(position);
  for (auto [tableDim, indexDim] :
       llvm::zip_equal(tableBatching, indicesBatching))
    dims[indexDim] = getTakenDim(tableDim);
  return dims;
}

static GatherDims dimsOf(int64_t dim, Type table, Type indices,
                         ArrayRef<int64_t> tableBatching,
                         ArrayRef<int64_t> indicesBatching) {
  return {dim, cast<RankedTensorType>(table).getRank(),
          cast<RankedTensorType>(indices).getRank(), tableBatching,
          indicesBatching};
}

GatherDims GatherOp::getGatherDims() {
  return dimsOf(getDim(), getOperand().getType(), getIndices().getType(),
                getOperandBatching(), getIndicesBatching());
}

GatherDims ScatterAddOp::getGatherDims() {
  return dimsOf(getDim(), getType(), getIndices().getType(),
                getOperandBatching(), getIndicesBatching());
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Batching dimensions of one tensor are named once, and `dim` is not among
/// them.
static LogicalResult verifyBatching(Operation *op, StringRef side,
                                    ArrayRef<int64_t> batching, int64_t rank,
                                    std::optional<int64_t> dim) {
  std::string name = (side + " batching").str();
  if (failed(verifyDimsInRange(op, name, batching, rank)))
    return failure();
  llvm::SmallBitVector used(rank);
  for (int64_t named : batching) {
    if (named == dim)
      return op->emitOpError() << name << " names dim " << named
                               << ", along which elements are indexed";
    if (used.test(named))
      return op->emitOpError() << name << " names dim " << named << " twice";
    used.set(named);
  }
  return success();
}

static LogicalResult verifyPairs(Operation *op, StringRef side,
                                 const GatherDims &dims, RankedTensorType table,
                                 RankedTensorType indices) {
  if (dims.tableBatching.size() != dims.indicesBatching.size())
    return op->emitOpError("batching must name as many dims of the ")
           << side << " as of the indices, got " << dims.tableBatching.size()
           << " and " << dims.indicesBatching.size();
  for (auto [tableDim, indexDim] :
       llvm::zip_equal(dims.tableBatching, dims.indicesBatching))
    if (table.getDimSize(tableDim) != indices.getDimSize(indexDim))
      return op->emitOpError("batching pairs dim ")
             << tableDim << " of the " << side << ", of size "
             << table.getDimSize(tableDim) << ", with dim " << indexDim
             << " of the indices, of size " << indices.getDimSize(indexDim);
  return success();
}

/// What an index can name: with i32, elements before 2^31.
static LogicalResult verifyIndexType(Operation *op, StringRef side, int64_t dim,
                                     RankedTensorType table,
                                     RankedTensorType indices) {
  Type element = indices.getElementType();
  int64_t size = table.getDimSize(dim);
  if (element.isInteger(32) && size > std::numeric_limits<int32_t>::max())
    return op->emitOpError("dim ")
           << dim << " of the " << side << " has size " << size
           << ", more than indices of type " << element
           << " reach; convert the indices to i64";
  return success();
}

/// The sizes that what is taken must have.
static SmallVector<ExpectedDim> expectTaken(const GatherDims &dims,
                                            StringRef side,
                                            RankedTensorType table,
                                            RankedTensorType indices) {
  auto expect = [](RankedTensorType type, int64_t dim, StringRef of) {
    return ExpectedDim{type.getDimSize(dim),
                       ("dim " + Twine(dim) + " of the " + of).str()};
  };
  SmallVector<ExpectedDim> expected;
  for (int64_t dim = 0; dim < dims.tableRank; ++dim) {
    if (dim != dims.dim)
      expected.push_back(expect(table, dim, side));
    else
      for (int64_t indexDim : dims.getIndexDims())
        expected.push_back(expect(indices, indexDim, "indices"));
  }
  return expected;
}

/// `side` names the table.
static LogicalResult verifyGather(Operation *op, StringRef side,
                                  const GatherDims &dims,
                                  RankedTensorType table,
                                  RankedTensorType indices) {
  return failure(
      failed(verifyDimsInRange(op, "dim", dims.dim, dims.tableRank)) ||
      failed(verifyBatching(op, side, dims.tableBatching, dims.tableRank,
                            dims.dim)) ||
      failed(verifyBatching(op, "indices", dims.indicesBatching,
                            dims.indicesRank, std::nullopt)) ||
      failed(verifyPairs(op, side, dims, table, indices)) ||
      failed(verifyIndexType(op, side, dims.dim, table, indices)));
}

static LogicalResult verifyElementTypes(Operation *op, StringRef name,
                                        RankedTensorType operand,
                                        RankedTensorType result) {
  if (operand.getElementType() == result.getElementType())
    return success();
  return op->emitOpError("result must have the element type of the ")
         << name << ", " << operand.getElementType() << ", got "
         << result.getElementType();
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

void GatherOp::build(OpBuilder &builder, OperationState &state, Value operand,
                     Value indices, int64_t dim,
                     ArrayRef<int64_t> operandBatching,
                     ArrayRef<int64_t> indicesBatching) {
  auto table = cast<RankedTensorType>(operand.getType());
  GatherDims dims =
      dimsOf(dim, table, indices.getType(), operandBatching, indicesBatching);
  SmallVector<int64_t> shape;
  for (const ExpectedDim &expected : expectTaken(
           dims, "operand", table, cast<RankedTensorType>(indices.getType())))
    shape.push_back(expected.size);
  build(builder, state, table.clone(shape), operand, indices, dim,
        operandBatching, indicesBatching);
}

LogicalResult GatherOp::verify() {
  RankedTensorType table = getOperand().getType();
  RankedTensorType indices = getIndices().getType();
  GatherDims dims = getGatherDims();
  if (failed(verifyGather(*this, "operand", dims, table, indices)) ||
      failed(verifyElementTypes(*this, "operand", table, getType())))
    return failure();
  return verifyResultShape(*this, getType(),
                           expectTaken(dims, "operand", table, indices));
}

//===----------------------------------------------------------------------===//
// scatter_add
//===----------------------------------------------------------------------===//

LogicalResult ScatterAddOp::verify() {
  RankedTensorType table = getType(), updates = getUpdates().getType();
  RankedTensorType indices = getIndices().getType();
  GatherDims dims = getGatherDims();
  if (failed(verifyGather(*this, "result", dims, table, indices)) ||
      failed(verifyElementTypes(*this, "updates", updates, table)))
    return failure();
  if (table.getElementType().isInteger(1))
    return emitOpError("cannot sum elements of type i1; convert them to i32 "
                       "first");
  SmallVector<ExpectedDim> expected =
      expectTaken(dims, "result", table, indices);
  if (updates.getRank() != static_cast<int64_t>(expected.size()))
    return emitOpError("updates must have rank ")
           << expected.size() << ", as a gather from the result has, got "
           << updates.getRank();
  for (auto [dim, want] : llvm::enumerate(expected))
    if (updates.getDimSize(dim) != want.size)
      return emitOpError("dim ")
             << dim << " of the updates must be " << want.size << " ("
             << want.reason << "), got " << updates.getDimSize(dim);
  return success();
}
