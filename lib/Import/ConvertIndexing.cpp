//===- ConvertIndexing.cpp - Gather, scatter, slices at an index ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Converters.h"
#include "Indexing.h"
#include "Reducer.h"
#include "Updates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//

static Value convertGather(Conversion &c) {
  std::optional<IndexingDims> dims =
      c.decode<IndexingDims>("dimension_numbers", readGatherDims);
  Dims sizes = c.integers("slice_sizes");
  if (!c.hasOperands(2) || c.hasFailed())
    return {};
  Value table = c.operand(0);
  std::optional<Indexing> indexing =
      Indexing::analyse(c, *dims, typeOf(table), c.operand(1), sizes,
                        c.type().getRank(), OutOfRange::Clamp);
  return indexing ? indexing->gather(c, table) : Value();
}

/// The size of an updated slice along each dimension of the table.
static Dims windowSizesOf(const IndexingDims &dims, RankedTensorType table,
                          RankedTensorType updates) {
  Dims sizes, window(dims.window);
  llvm::sort(window);
  size_t next = 0;
  for (int64_t dim = 0; dim < table.getRank(); ++dim) {
    bool isWhole = !llvm::is_contained(dims.collapsed, dim) &&
                   !llvm::is_contained(dims.operandBatching, dim);
    int64_t of = isWhole && next < window.size() ? window[next++] : -1;
    sizes.push_back(of >= 0 && of < updates.getRank() ? updates.getDimSize(of)
                                                      : 1);
  }
  return sizes;
}

static bool isZero(Value value) {
  TypedAttr attr = getSplat(value);
  auto integer = dyn_cast_or_null<IntegerAttr>(attr);
  return isFloat(attr, 0) || (integer && integer.getValue().isZero());
}

static Value convertScatter(Conversion &c) {
  std::optional<IndexingDims> dims =
      c.decode<IndexingDims>("scatter_dimension_numbers", readScatterDims);
  if (c.numOperands() != 3 && c.numOperands() % 2 == 1 && c.numOperands() > 0)
    return c.unsupported("into several tensors at once");
  if (!c.hasOperands(3) || c.hasFailed())
    return {};
  std::optional<Reducer> reducer = matchReducer(c.getSource());
  bool isDifference = subtracts(c.getSource());
  if (!reducer && !isDifference && !replaces(c.getSource()))
    return c.unsupported("with another function than set, add, subtract, "
                         "multiply, maximum, minimum, and, or, xor; write "
                         "x.at[i].set(f(x[i])) for x.at[i].apply(f)");
  Value table = c.operand(0), updates = c.operand(2);
  if (isDifference) {
    reducer = Reducer::Add;
    updates = isa<FloatType>(c.element())
                  ? c.make<arith::NegFOp>(updates)
                  : c.make<arith::SubIOp>(c.splatLike(updates, 0), updates);
  }
  std::optional<Indexing> indexing =
      Indexing::analyse(c, *dims, typeOf(table), c.operand(1),
                        windowSizesOf(*dims, typeOf(table), typeOf(updates)),
                        typeOf(updates).getRank(), OutOfRange::Drop);
  if (!indexing)
    return {};
  if (reducer != Reducer::Add || c.element().isInteger(1))
    return indexing->scatter(c, table, updates, reducer,
                             c.flag("unique_indices"));
  Value sum = indexing->scatterAdd(c, updates);
  if (isZero(table))
    return sum;
  return isa<FloatType>(c.element()) ? c.make<arith::AddFOp>(table, sum)
                                     : c.make<arith::AddIOp>(table, sum);
}

//===----------------------------------------------------------------------===//
// Slices at an index
//===----------------------------------------------------------------------===//

/// The operands from `first` on as the starts of a slice of `sizes` in a tensor
/// of `shape`: scalars, one for each dimension.
static bool checkStarts(Conversion &c, unsigned first, ArrayRef<int64_t> shape,
                        ArrayRef<int64_t> sizes) {
  if (!c.hasOperands(first + shape.size()))
    return false;
  for (Value start : c.getOperands().drop_front(first)) {
    RankedTensorType type = typeOf(start);
    if (type.getRank() != 0 || !isa<IntegerType>(type.getElementType())) {
      c.malformed("its starts must be integers");
      return false;
    }
  }
  if (shape.size() != sizes.size()) {
    c.malformed("it must have a size for each dim");
    return false;
  }
  for (auto [size, whole] : llvm::zip_equal(sizes, shape))
    if (size < 1 || size > whole) {
      c.malformed("its slice is larger than its operand");
      return false;
    }
  return true;
}

/// The starts as numbers, in range; none if one is known only at run time.
static std::optional<Shape> constantStarts(Conversion &c, unsigned first,
                                           ArrayRef<int64_t> shape,
                                           ArrayRef<int64_t> sizes) {
  Shape starts;
  for (auto [dim, start] : llvm::enumerate(c.getOperands().drop_front(first))) {
    int64_t limit = shape[dim] - sizes[dim];
    std::optional<int64_t> known = limit == 0 ? 0 : getSplatInteger(start);
    if (!known)
      return std::nullopt;
    starts.push_back(std::clamp<int64_t>(*known, 0, limit));
  }
  return starts;
}

/// A start that is known at run time, as an i32 in range.
static Value clampStart(Conversion &c, unsigned operand, int64_t limit) {
  Value start = c.operand(operand);
  Type wide = RankedTensorType::get({}, c.builder.getI64Type()),
       narrow = RankedTensorType::get({}, c.builder.getI32Type());
  if (start.getType() != wide)
    start = c.isUnsigned(operand) ? c.make<arith::ExtUIOp>(wide, start)
                                  : c.make<arith::ExtSIOp>(wide, start);
  start = c.make<arith::MinSIOp>(
      c.make<arith::MaxSIOp>(start, c.splatLike(start, 0)),
      c.splatLike(start, limit));
  return c.make<arith::TruncIOp>(narrow, start);
}

/// Elements of `x` along `dim` at a list of indices.
static Value take(Conversion &c, Value x, Value indices, int64_t dim) {
  if (!x || !indices)
    return {};
  Shape shape(typeOf(x).getShape());
  shape[dim] = typeOf(indices).getDimSize(0);
  return c.make<GatherOp>(typeOf(x).clone(shape), x, indices, dim,
                          ArrayRef<int64_t>(), ArrayRef<int64_t>());
}

static Value convertDynamicSlice(Conversion &c) {
  Dims sizes = c.integers("slice_sizes");
  Value x = c.operand(0);
  if (!x || c.hasFailed() || !checkStarts(c, 1, typeOf(x).getShape(), sizes))
    return {};
  ArrayRef<int64_t> shape = typeOf(x).getShape();
  if (std::optional<Shape> starts = constantStarts(c, 1, shape, sizes)) {
    Shape limits;
    for (auto [start, size] : llvm::zip_equal(*starts, sizes))
      limits.push_back(start + size);
    return sliceUpdated(c, x, *starts, limits);
  }
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (size == shape[dim])
      continue;
    Value first = clampStart(c, 1 + dim, shape[dim] - size);
    Value count = c.iota({size}, c.builder.getI32Type(), 0);
    x = take(c, x,
             c.make<arith::AddIOp>(count, c.broadcastScalar(first, {size})),
             dim);
  }
  return x;
}

/// Every element of `x`, or that of the update where one is, found by counting
/// from the start of the update.
static Value updateAtRunTime(Conversion &c, Value x, Value update) {
  ArrayRef<int64_t> shape = typeOf(x).getShape(),
                    sizes = typeOf(update).getShape();
  Value isUpdated;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (size == shape[dim])
      continue;
    Shape line = {shape[dim]};
    Value first = clampStart(c, 2 + dim, shape[dim] - size);
    Value index = c.make<arith::SubIOp>(c.iota(line, c.builder.getI32Type(), 0),
                                        c.broadcastScalar(first, line));
    update = take(c, update, index, dim);
    // Without sign, what is before the start is behind the end.
    Value isInside =
        c.broadcast(c.make<arith::CmpIOp>(arith::CmpIPredicate::ult, index,
                                          c.splatLike(index, size)),
                    shape, {static_cast<int64_t>(dim)});
    isUpdated =
        isUpdated ? c.make<arith::AndIOp>(isUpdated, isInside) : isInside;
  }
  return c.make<arith::SelectOp>(isUpdated, update, x);
}

static Value convertDynamicUpdateSlice(Conversion &c) {
  Value x = c.operand(0), update = c.operand(1);
  if (!x || !update)
    return {};
  if (typeOf(x).getElementType() != typeOf(update).getElementType())
    return c.malformed("its update must have the operand's type of elements");
  ArrayRef<int64_t> shape = typeOf(x).getShape(),
                    sizes = typeOf(update).getShape();
  if (!checkStarts(c, 2, shape, sizes))
    return {};
  if (std::optional<Shape> starts = constantStarts(c, 2, shape, sizes))
    return updateSlice(c, x, update, *starts);
  return updateAtRunTime(c, x, update);
}

std::vector<Converter> weft::stablehlo::indexingConverters() {
  return {
      {"stablehlo.gather",
       single(convertGather),
       {"dimension_numbers", "slice_sizes", "indices_are_sorted"}},
      {"stablehlo.scatter",
       single(convertScatter),
       {"scatter_dimension_numbers", "indices_are_sorted", "unique_indices"}},
      {"stablehlo.dynamic_slice", single(convertDynamicSlice), {"slice_sizes"}},
      {"stablehlo.dynamic_update_slice", single(convertDynamicUpdateSlice)},
  };
}
