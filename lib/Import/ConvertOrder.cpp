//===- ConvertOrder.cpp - sort and top_k ----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sort becomes the order of its keys and a gather of each operand. An order
// by several keys is one by the last of them, then by those before it: each is
// stable.
//
//===----------------------------------------------------------------------===//

#include "Converters.h"
#include "RegionFunction.h"

#include "weft/IR/OrderOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

//===----------------------------------------------------------------------===//
// Comparators
//===----------------------------------------------------------------------===//

namespace {
/// An operand that the comparator orders by, those of equal earlier keys.
struct SortKey {
  unsigned operand;
  bool isDescending;
};
} // namespace

/// Whether the comparator has a pair before another one, all elements of which
/// are equal but those of `operand`; none if it cannot be said.
static std::optional<bool> isBefore(Operation *sort, unsigned operand, double x,
                                    double y, double others) {
  SmallVector<double> arguments(2 * sort->getNumOperands(), others);
  arguments[2 * operand] = x;
  arguments[2 * operand + 1] = y;
  auto result = evaluate(sort->getRegion(0), arguments);
  if (!result || result->size() != 1)
    return std::nullopt;
  return result->front() != 0;
}

/// Whether two numbers of a key, with all else equal, have the order of an
/// argsort: zeros are equal, and a NaN, if it is ordered, is the greatest.
static bool ordersLikeArgsort(Operation *sort, SortKey key) {
  Type element = getElementTypeOrSelf(sort->getOperand(key.operand).getType());
  for (double x : samplesOf(element))
    for (double y : samplesOf(element)) {
      std::optional<bool> before = isBefore(sort, key.operand, x, y, 0);
      if (!before)
        return false;
      double low = key.isDescending ? y : x, high = key.isDescending ? x : y;
      bool mayBe = low < high || (std::isnan(high) && !std::isnan(low));
      bool mustBe = low < high;
      if ((*before && !mayBe) || (!*before && mustBe))
        return false;
    }
  return true;
}

/// Whether an earlier key decides, whatever a later one says.
static bool decidesBefore(Operation *sort, SortKey first, SortKey second) {
  SmallVector<double> arguments(2 * sort->getNumOperands(), 0);
  auto set = [&](SortKey key, bool isFirst) {
    arguments[2 * key.operand] = isFirst == key.isDescending;
    arguments[2 * key.operand + 1] = isFirst != key.isDescending;
  };
  for (bool isFirst : {true, false}) {
    set(first, isFirst);
    set(second, !isFirst);
    auto result = evaluate(sort->getRegion(0), arguments);
    if (!result || (result->front() != 0) != isFirst)
      return false;
  }
  return true;
}

/// The keys, the one that decides first in front; empty for what is no order of
/// this kind.
static SmallVector<SortKey> findKeys(Operation *sort) {
  SmallVector<SortKey> keys;
  for (unsigned operand = 0; operand < sort->getNumOperands(); ++operand) {
    std::optional<bool> up = isBefore(sort, operand, 0, 1, 0),
                        down = isBefore(sort, operand, 1, 0, 0);
    if (!up || !down)
      return {};
    if (*up != *down)
      keys.push_back({operand, *down});
  }
  llvm::sort(keys, [&](SortKey a, SortKey b) {
    return decidesBefore(sort, a, b) && !decidesBefore(sort, b, a);
  });
  for (auto [number, key] : llvm::enumerate(keys)) {
    if (!ordersLikeArgsort(sort, key))
      return {};
    for (SortKey later : llvm::drop_begin(keys, number + 1))
      if (!decidesBefore(sort, key, later))
        return {};
  }
  return keys;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// The elements of `x` along `dim` at indices for each row.
static Value takeAlong(Conversion &c, Value x, Value indices, int64_t dim) {
  if (!x || !indices)
    return {};
  Dims others;
  for (int64_t i = 0; i < typeOf(x).getRank(); ++i)
    if (i != dim)
      others.push_back(i);
  auto type = typeOf(indices).clone(typeOf(x).getElementType());
  return c.make<GatherOp>(type, x, indices, dim, ArrayRef<int64_t>(others),
                          ArrayRef<int64_t>(others));
}

/// The first `count` of the order. An argsort counts the first bit of an
/// integer as its sign.
static Value orderOf(Conversion &c, Value x, bool isUnsigned, int64_t dim,
                     bool isDescending, int64_t count) {
  if (!x)
    return {};
  Type element = typeOf(x).getElementType();
  if (isUnsigned && isa<IntegerType>(element) && !element.isInteger(1)) {
    APInt bit = APInt::getSignMask(element.getIntOrFloatBitWidth());
    x = c.make<arith::XOrIOp>(
        x, c.splat(typeOf(x),
                   cast<TypedAttr>(c.builder.getIntegerAttr(element, bit))));
  }
  Shape shape(typeOf(x).getShape());
  shape[dim] = count;
  auto type = RankedTensorType::get(shape, c.builder.getI32Type());
  return c.make<ArgsortOp>(type, x, dim, isDescending);
}

static Values convertSort(Conversion &c) {
  Operation *op = c.getSource();
  Values results(op->getNumResults(), nullptr);
  std::optional<int64_t> dim = c.integer("dimension");
  if (c.hasFailed() || llvm::is_contained(c.getOperands(), Value()))
    return results;
  if (op->getNumRegions() != 1 || c.numOperands() == 0 ||
      c.numOperands() != results.size()) {
    c.malformed("it must have a comparator, and a result for each operand");
    return results;
  }
  RankedTensorType type = typeOf(c.operand(0));
  for (Value operand : c.getOperands())
    if (typeOf(operand).getShape() != type.getShape() || *dim < 0 ||
        *dim >= type.getRank()) {
      c.malformed("its operands must have one shape with the dimension");
      return results;
    }
  SmallVector<SortKey> keys = findKeys(op);
  if (keys.empty()) {
    c.unsupported("with another comparator than one of elements, the least or "
                  "the greatest first, as of jax.lax.sort");
    return results;
  }
  Value order;
  for (SortKey key : llvm::reverse(keys)) {
    Value x = c.operand(key.operand);
    if (order)
      x = takeAlong(c, x, order, *dim);
    Value next = orderOf(c, x, c.isUnsigned(key.operand), *dim,
                         key.isDescending, type.getDimSize(*dim));
    order = order ? takeAlong(c, order, next, *dim) : next;
  }
  for (auto [result, operand] : llvm::zip_equal(results, c.getOperands()))
    result = takeAlong(c, operand, order, *dim);
  return results;
}

static Values convertTopK(Conversion &c) {
  Values failed = {nullptr, nullptr};
  std::optional<int64_t> k = c.integer("k");
  if (!c.hasOperands(1) || !c.operand(0) || c.hasFailed())
    return failed;
  Value x = c.operand(0);
  int64_t dim = typeOf(x).getRank() - 1;
  if (dim < 0 || *k < 1 || *k > typeOf(x).getDimSize(dim)) {
    c.malformed("its k must be from 1 to the size of its last dim");
    return failed;
  }
  Value first = orderOf(c, x, c.isUnsigned(0), dim, /*isDescending=*/true, *k);
  return {takeAlong(c, x, first, dim), first};
}

std::vector<Converter> weft::stablehlo::orderConverters() {
  return {{"stablehlo.sort", convertSort, {"dimension", "is_stable"}},
          {"chlo.top_k", convertTopK, {"k"}}};
}
