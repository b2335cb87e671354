//===- Indexing.cpp - Gathers and scatters by dimension -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Indexing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Whether all numbers are those of dimensions, and none is there twice.
static bool areDims(ArrayRef<int64_t> dims, int64_t rank) {
  llvm::SmallBitVector seen(rank);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank || seen.test(dim))
      return false;
    seen.set(dim);
  }
  return true;
}

/// Reports numbers of dimensions that cannot be.
static bool check(Conversion &c, const IndexingDims &dims,
                  RankedTensorType table, RankedTensorType indices,
                  ArrayRef<int64_t> windowSizes, int64_t resultRank) {
  int64_t rank = table.getRank(), indicesRank = indices.getRank();
  bool hasVectors = dims.indexVectorDim < indicesRank;
  int64_t vectorSize = !hasVectors || dims.indexVectorDim < 0
                           ? 1
                           : indices.getDimSize(dims.indexVectorDim);
  int64_t batchRank = indicesRank - (hasVectors ? 1 : 0);
  bool isRight =
      dims.indexVectorDim >= 0 && dims.indexVectorDim <= indicesRank &&
      areDims(dims.window, resultRank) && areDims(dims.collapsed, rank) &&
      areDims(dims.operandBatching, rank) && areDims(dims.indexed, rank) &&
      areDims(dims.indicesBatching, indicesRank) &&
      !llvm::is_contained(dims.indicesBatching, dims.indexVectorDim) &&
      dims.operandBatching.size() == dims.indicesBatching.size() &&
      static_cast<int64_t>(dims.indexed.size()) == vectorSize &&
      static_cast<int64_t>(dims.window.size()) + batchRank == resultRank &&
      static_cast<int64_t>(dims.window.size() + dims.collapsed.size() +
                           dims.operandBatching.size()) == rank &&
      static_cast<int64_t>(windowSizes.size()) == rank &&
      isa<IntegerType>(indices.getElementType()) &&
      !indices.getElementType().isInteger(1);
  if (!isRight) {
    c.malformed("its dimension numbers do not fit its operands");
    return false;
  }
  for (auto [dim, size] : llvm::enumerate(windowSizes))
    if (size < 1 || size > table.getDimSize(dim)) {
      c.malformed("its slices are larger than its operand");
      return false;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

/// Puts the indexed dimensions, if there are several, first and in one.
void Indexing::mergeTable(const IndexingDims &dims, RankedTensorType type) {
  sourceTable = type;
  if (dims.indexed.size() == 1) {
    dim = dims.indexed.front();
    table = type;
    tableOrder = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    for (int64_t i = 0; i < type.getRank(); ++i)
      tableLabels.push_back({false, i});
    return;
  }
  dim = 0;
  int64_t merged = 1;
  for (int64_t indexed : dims.indexed)
    merged *= type.getDimSize(indexed);
  tableOrder = dims.indexed;
  tableLabels.push_back({false, -1});
  Shape shape = {merged};
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (!llvm::is_contained(dims.indexed, i)) {
      tableOrder.push_back(i);
      tableLabels.push_back({false, i});
      shape.push_back(type.getDimSize(i));
    }
  table = type.clone(shape);
}

/// `value`, with what is out of [0, limit] brought there or marked in
/// `isInRange`.
static Value bring(Conversion &c, Value value, int64_t limit,
                   OutOfRange outOfRange, Value &isInRange) {
  if (outOfRange == OutOfRange::Clamp)
    return c.make<arith::MinSIOp>(
        c.make<arith::MaxSIOp>(value, c.splatLike(value, 0)),
        c.splatLike(value, limit));
  // Without sign, what is below 0 is above all limits.
  Value isThisInRange = c.make<arith::CmpIOp>(arith::CmpIPredicate::ule, value,
                                              c.splatLike(value, limit));
  isInRange = isInRange ? c.make<arith::AndIOp>(isInRange, isThisInRange)
                        : isThisInRange;
  return value;
}

/// The indices as i32 or i64.
static Value widen(Conversion &c, Value indices) {
  RankedTensorType type = typeOf(indices);
  Type element = type.getElementType();
  if (element.isInteger(32) || element.isInteger(64))
    return indices;
  type = type.clone(Type(c.builder.getI32Type()));
  return c.isUnsigned(1) ? c.make<arith::ExtUIOp>(type, indices)
                         : c.make<arith::ExtSIOp>(type, indices);
}

/// Number `number` of the index vector of each slice.
static Value component(Conversion &c, Value vectors, int64_t vectorDim,
                       int64_t number) {
  RankedTensorType type = typeOf(vectors);
  Shape shape(type.getShape());
  if (vectorDim == type.getRank())
    return vectors;
  Shape starts(shape.size(), 0), limits(shape);
  starts[vectorDim] = number;
  limits[vectorDim] = number + 1;
  shape.erase(shape.begin() + vectorDim);
  return c.reshape(c.slice(vectors, starts, limits), shape);
}

/// `first`, and `size` numbers from it on, `stride` apart, along a new last
/// dimension.
static Value countFrom(Conversion &c, Value first, int64_t size,
                       int64_t stride) {
  if (!first)
    return {};
  Shape shape(typeOf(first).getShape());
  int64_t last = shape.size();
  shape.push_back(size);
  Value spread =
      c.broadcast(first, shape, llvm::to_vector(llvm::seq<int64_t>(0, last)));
  if (size == 1)
    return spread;
  Value offset = c.iota(shape, typeOf(first).getElementType(), last);
  if (stride != 1)
    offset = c.make<arith::MulIOp>(offset, c.splatLike(offset, stride));
  return c.make<arith::AddIOp>(spread, offset);
}

/// One number for each slice, where the source has a vector for each; and one
/// for each element of a slice along the indexed dimensions.
void Indexing::mergeIndices(Conversion &c, const IndexingDims &dims,
                            Value source, ArrayRef<int64_t> windowSizes,
                            OutOfRange outOfRange) {
  Value vectors = widen(c, source), isInRange;
  // Ops of a graph look after the range of single elements themselves.
  bool isPlain = dims.indexed.size() == 1 && windowSizes[dim] == 1;
  int64_t stride = 1;
  Dims strides(dims.indexed.size());
  // The minor number first.
  for (int64_t i = dims.indexed.size() - 1; i >= 0; --i) {
    int64_t indexed = dims.indexed[i], size = sourceTable.getDimSize(indexed);
    Value number = component(c, vectors, dims.indexVectorDim, i);
    if (!isPlain)
      number =
          bring(c, number, size - windowSizes[indexed], outOfRange, isInRange);
    if (stride != 1)
      number = c.make<arith::MulIOp>(number, c.splatLike(number, stride));
    indices = indices ? c.make<arith::AddIOp>(number, indices) : number;
    strides[i] = stride;
    stride *= size;
  }
  if (isInRange)
    indices = c.make<arith::SelectOp>(
        isInRange, indices, c.splatLike(indices, table.getDimSize(dim)));
  if (!indices)
    return;
  for (int64_t i = 0; i < typeOf(indices).getRank(); ++i)
    indicesLabels.push_back({true, i});
  for (int64_t batching : dims.indicesBatching)
    indicesBatching.push_back(batching - (batching > dims.indexVectorDim));
  for (auto [indexed, stride] : llvm::zip_equal(dims.indexed, strides))
    if (!llvm::is_contained(dims.collapsed, indexed)) {
      indices = countFrom(c, indices, windowSizes[indexed], stride);
      indicesLabels.push_back({false, indexed});
    }
}

/// Finds the dimension of what is taken for each dimension of the result.
void Indexing::label(const IndexingDims &dims, int64_t resultRank) {
  SmallVector<Label> taken;
  auto take = [&](Label label, int64_t size) {
    taken.push_back(label);
    takenShape.push_back(size);
  };
  Dims sourceBatching = std::exchange(indicesBatching, {});
  for (auto [i, label] : llvm::enumerate(tableLabels)) {
    if (static_cast<int64_t>(i) == dim) {
      for (auto [j, ofIndex] : llvm::enumerate(indicesLabels))
        if (!llvm::is_contained(sourceBatching, static_cast<int64_t>(j)))
          take(ofIndex, typeOf(indices).getDimSize(j));
      continue;
    }
    auto batching = llvm::find(dims.operandBatching, label.dim);
    if (batching == dims.operandBatching.end()) {
      take(label, table.getDimSize(i));
      continue;
    }
    int64_t pair = sourceBatching[batching - dims.operandBatching.begin()];
    tableBatching.push_back(i);
    indicesBatching.push_back(pair);
    take(indicesLabels[pair], table.getDimSize(i));
  }

  SmallVector<Label> window, batch, result;
  for (int64_t i = 0; i < sourceTable.getRank(); ++i)
    if (!llvm::is_contained(dims.collapsed, i) &&
        !llvm::is_contained(dims.operandBatching, i))
      window.push_back({false, i});
  for (const Label &label : indicesLabels)
    if (label.ofIndices)
      batch.push_back(label);
  auto nextWindow = window.begin(), nextBatch = batch.begin();
  for (int64_t i = 0; i < resultRank; ++i)
    result.push_back(llvm::is_contained(dims.window, i) ? *nextWindow++
                                                        : *nextBatch++);
  for (const Label &label : result)
    resultOrder.push_back(llvm::find(taken, label) - taken.begin());
}

std::optional<Indexing> Indexing::analyse(Conversion &c,
                                          const IndexingDims &source,
                                          RankedTensorType table, Value indices,
                                          ArrayRef<int64_t> windowSizes,
                                          int64_t resultRank,
                                          OutOfRange outOfRange) {
  if (!check(c, source, table, typeOf(indices), windowSizes, resultRank))
    return std::nullopt;
  IndexingDims dims = source;
  batchCounted(c, dims, table, indices);
  for (auto [dim, size] : llvm::enumerate(windowSizes)) {
    bool isIndexed = llvm::is_contained(dims.indexed, dim);
    bool isBatching = llvm::is_contained(dims.operandBatching, dim);
    bool isCollapsed = llvm::is_contained(dims.collapsed, dim);
    bool isRight = isBatching ? size == 1 && !isIndexed
                              : isIndexed || size == table.getDimSize(dim);
    if (!isRight || (isCollapsed && size != 1)) {
      c.unsupported("of slices that are cut along a dim without an index");
      return std::nullopt;
    }
  }
  Indexing indexing;
  indexing.mergeTable(dims, table);
  indexing.mergeIndices(c, dims, indices, windowSizes, outOfRange);
  if (!indexing.indices)
    return std::nullopt;
  indexing.label(dims, resultRank);
  if (!isPermutationVector(indexing.resultOrder) ||
      indexing.resultOrder.size() != indexing.takenShape.size()) {
    c.malformed("its dimension numbers do not fit its operands");
    return std::nullopt;
  }
  return indexing;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Value Indexing::gather(Conversion &c, Value source) const {
  Value merged = c.reshape(c.transpose(source, tableOrder), table.getShape());
  Value taken = c.make<GatherOp>(table.clone(takenShape), merged, indices, dim,
                                 ArrayRef<int64_t>(tableBatching),
                                 ArrayRef<int64_t>(indicesBatching));
  return c.transpose(taken, resultOrder);
}

Value Indexing::scatterAdd(Conversion &c, Value updates) const {
  Value taken = c.transpose(updates, invertPermutationVector(resultOrder));
  Value merged = c.make<ScatterAddOp>(table, taken, indices, dim,
                                      ArrayRef<int64_t>(tableBatching),
                                      ArrayRef<int64_t>(indicesBatching));
  Shape ordered;
  for (int64_t i : tableOrder)
    ordered.push_back(sourceTable.getDimSize(i));
  return c.transpose(c.reshape(merged, ordered),
                     invertPermutationVector(tableOrder));
}
