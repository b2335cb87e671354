//===- Scatter.cpp - Scatters that do more than add -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph has sums at indices. With them every element of the table finds the
// number of the update that is for it, if there is one, and takes this update.
// Where an element may have several, the updates are sorted by their indices
// before, and those of one index are combined, each with those 1, 2, 4, ...
// before it: the last one of an index has all of them.
//
// Example: 7, 8, 9 at 2, 0, 2 in a table of 4, with maximum
//   sorted     8, 7, 9 at 0, 2, 2
//   combined   8, 7, 9; the last of their index are numbers 1 and 3
//   numbers    1, 0, 3, 0 by element; 0 takes nothing
//
//===----------------------------------------------------------------------===//

#include "Indexing.h"
#include "Reducer.h"

#include "weft/IR/OrderOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

namespace {

/// In the form [batching, indexed, others] of table and updates, and [batching,
/// indexed] of indices.
class Scatterer {
public:
  Scatterer(Conversion &c, int64_t batching) : c(c), rows(batching) {
    for (int64_t dim = 0; dim < rows; ++dim)
      batchDims.push_back(dim);
  }

  Value scatter(Value table, Value indices, Value updates,
                std::optional<Reducer> reducer, bool areUnique);

private:
  Value take(Value x, Value at);
  /// The elements of the indexed dimension in [start, limit).
  Value part(Value x, int64_t start, int64_t limit);
  /// What is known for each index, for each element of `like`.
  Value spread(Value x, Value like);
  Value combineEqual(Value indices, Value updates, Reducer reducer);
  Value keepLast(Value indices, int64_t size);
  int64_t sizeOf(Value x) { return typeOf(x).getDimSize(rows); }
  Value falses(Value like, int64_t count);

  Conversion &c;
  /// The indexed dimension, behind those of `batchDims`.
  const int64_t rows;
  Dims batchDims;
};

} // namespace

Value Scatterer::take(Value x, Value at) {
  if (!x || !at)
    return {};
  Shape shape(typeOf(x).getShape());
  shape[rows] = sizeOf(at);
  return c.make<GatherOp>(typeOf(x).clone(shape), x, at, rows,
                          ArrayRef<int64_t>(batchDims),
                          ArrayRef<int64_t>(batchDims));
}

Value Scatterer::part(Value x, int64_t start, int64_t limit) {
  if (!x)
    return {};
  Shape starts(typeOf(x).getRank(), 0), limits(typeOf(x).getShape());
  starts[rows] = start;
  limits[rows] = limit;
  return c.slice(x, starts, limits);
}

Value Scatterer::spread(Value x, Value like) {
  if (!x || !like)
    return {};
  return c.broadcast(x, typeOf(like).getShape(),
                     llvm::to_vector(llvm::seq<int64_t>(0, rows + 1)));
}

Value Scatterer::falses(Value like, int64_t count) {
  Shape shape(typeOf(like).getShape());
  shape[rows] = count;
  return c.splat(RankedTensorType::get(shape, c.builder.getI1Type()), 0.0);
}

/// Indices are sorted: what is equal at a distance is equal in between.
Value Scatterer::combineEqual(Value indices, Value updates, Reducer reducer) {
  int64_t count = sizeOf(indices);
  for (int64_t distance = 1; updates && distance < count; distance *= 2) {
    Value isEqual = c.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                          part(indices, distance, count),
                                          part(indices, 0, count - distance));
    if (!isEqual)
      return {};
    isEqual = c.concat({falses(indices, distance), isEqual}, rows);
    Value before = c.concat(
        {part(updates, 0, distance), part(updates, 0, count - distance)}, rows);
    updates =
        c.make<arith::SelectOp>(spread(isEqual, updates),
                                combine(c, reducer, before, updates), updates);
  }
  return updates;
}

/// Indices beyond the table for all but the last of those that are equal.
Value Scatterer::keepLast(Value indices, int64_t size) {
  int64_t count = sizeOf(indices);
  Value isEqual = c.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                        part(indices, 0, count - 1),
                                        part(indices, 1, count));
  if (!isEqual)
    return {};
  isEqual = c.concat({isEqual, falses(indices, 1)}, rows);
  return c.make<arith::SelectOp>(isEqual, c.splatLike(indices, size), indices);
}

Value Scatterer::scatter(Value table, Value indices, Value updates,
                         std::optional<Reducer> reducer, bool areUnique) {
  if (!table || !indices || !updates)
    return {};
  int64_t size = sizeOf(table), count = sizeOf(indices);
  if (!areUnique && count > 1) {
    auto type = typeOf(indices).clone(Type(c.builder.getI32Type()));
    Value order = c.make<ArgsortOp>(type, indices, rows, /*descending=*/false);
    indices = take(indices, order);
    updates = take(updates, order);
    if (reducer && indices)
      updates = combineEqual(indices, updates, *reducer);
    indices = indices ? keepLast(indices, size) : Value();
  }
  if (!indices)
    return {};
  // From 1 on: 0 is for elements that nothing is for.
  Value number =
      c.iota(typeOf(indices).getShape(), c.builder.getI32Type(), rows);
  number = c.make<arith::AddIOp>(number, c.splatLike(number, 1));
  Shape elements(typeOf(table).getShape().take_front(rows + 1));
  Value which = c.make<ScatterAddOp>(
      RankedTensorType::get(elements, c.builder.getI32Type()), number, indices,
      rows, ArrayRef<int64_t>(batchDims), ArrayRef<int64_t>(batchDims));
  if (!which)
    return {};
  Value isUpdated = c.make<arith::CmpIOp>(arith::CmpIPredicate::ne, which,
                                          c.splatLike(which, 0));
  Value taken =
      take(updates, c.make<arith::SubIOp>(which, c.splatLike(which, 1)));
  Value next = reducer ? combine(c, *reducer, table, taken) : taken;
  return c.make<arith::SelectOp>(spread(isUpdated, table), next, table);
}

/// The order that brings these dimensions to the front; the others follow.
static Dims inFront(ArrayRef<int64_t> first, int64_t rank) {
  Dims order(first);
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(first, dim))
      order.push_back(dim);
  return order;
}

/// Transposes, and merges the dimensions from `begin` to before `end`.
static Value merged(Conversion &c, Value x, ArrayRef<int64_t> order,
                    int64_t begin, int64_t end) {
  x = c.transpose(x, order);
  if (!x)
    return {};
  ArrayRef<int64_t> shape = typeOf(x).getShape();
  Shape to(shape.take_front(begin));
  int64_t size = 1;
  for (int64_t n : shape.slice(begin, end - begin))
    size *= n;
  to.push_back(size);
  llvm::append_range(to, shape.drop_front(end));
  return c.reshape(x, to);
}

Value Indexing::scatter(Conversion &c, Value source, Value updates,
                        std::optional<Reducer> reducer, bool areUnique) const {
  Value whole = c.reshape(c.transpose(source, tableOrder), table.getShape());
  Value taken = c.transpose(updates, invertPermutationVector(resultOrder));
  if (!whole || !taken)
    return {};
  int64_t batching = tableBatching.size();
  GatherDims dims{dim, table.getRank(), typeOf(indices).getRank(),
                  tableBatching, indicesBatching};
  Dims tableFirst(tableBatching), takenFirst;
  tableFirst.push_back(dim);
  for (int64_t tableDim : tableBatching)
    takenFirst.push_back(dims.getTakenDim(tableDim));
  for (auto [number, indexDim] : llvm::enumerate(dims.getIndexDims()))
    takenFirst.push_back(dim + static_cast<int64_t>(number));
  Dims wholeOrder = inFront(tableFirst, table.getRank());
  Value result =
      Scatterer(c, batching)
          .scatter(c.transpose(whole, wholeOrder),
                   merged(c, indices,
                          inFront(indicesBatching, typeOf(indices).getRank()),
                          batching, typeOf(indices).getRank()),
                   merged(c, taken,
                          inFront(takenFirst, typeOf(taken).getRank()),
                          batching, takenFirst.size()),
                   reducer, areUnique);
  result = c.transpose(result, invertPermutationVector(wholeOrder));
  Shape ordered;
  for (int64_t i : tableOrder)
    ordered.push_back(sourceTable.getDimSize(i));
  return c.transpose(c.reshape(result, ordered),
                     invertPermutationVector(tableOrder));
}
