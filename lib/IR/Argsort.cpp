//===- Argsort.cpp - The order of elements, by other ops ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements become integers of the same order, their keys, along the last
// dimension. All ways of sorting order pairs of a key and an index, no two of
// which are equal, so that the order is stable.
//
// Selection: the least element, then the least of those that are left, and so
// on.
//
// Counting: the place of an element is the number of those before it: n
// comparisons for each of n elements, and as many to find the element of a
// place; both are reductions of rows that no one stores.
//
// The network is Batcher's bitonic sort: log2(n) (log2(n) + 1) / 2 steps, in
// each of which pairs of elements at one distance are exchanged if their order
// is wrong. Each step is one pass over the keys and indices.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"
#include "weft/IR/OrderOps.h"
#include "weft/IR/TensorBuilder.h"
#include "weft/IR/TensorTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

#include <limits>

using namespace mlir;
using namespace weft;

using Shape = SmallVector<int64_t>;
using arith::CmpIPredicate;

/// The longest dimension whose elements are sorted by counting: measured, on
/// longer ones the network is faster.
static constexpr int64_t longestCounted = 32;

/// The most elements that are found one after the other, each in two passes
/// that leave out those found before it.
static constexpr int64_t mostSelected = 16;

LogicalResult ArgsortOp::verify() {
  RankedTensorType operand = getOperand().getType();
  int64_t dim = getDim();
  if (failed(verifyDimsInRange(*this, "dim", dim, operand.getRank())))
    return failure();
  int64_t size = operand.getDimSize(dim);
  SmallVector<int64_t> shape(operand.getShape());
  if (getType().getRank() == operand.getRank())
    shape[dim] = std::clamp<int64_t>(getType().getDimSize(dim), 1, size);
  auto want = RankedTensorType::get(shape, IntegerType::get(getContext(), 32));
  if (getType() != want)
    return emitOpError("result must be ")
           << want << ", or have fewer elements along dim " << dim << ", got "
           << getType();
  if (size > std::numeric_limits<int32_t>::max())
    return emitOpError("dim ") << dim << " has size " << size
                               << ", more than indices of type i32 reach";
  return success();
}

/// Elements stay together along the dimension that is sorted.
sharding::ShardingRule ArgsortOp::getShardingRule() {
  using sharding::FactorKind;
  sharding::ShardingRule rule;
  sharding::TensorFactors operand, result;
  ArrayRef<int64_t> shape = getOperand().getType().getShape();
  for (auto [dim, size] : llvm::enumerate(shape)) {
    bool isSorted = dim == getDim();
    int32_t factor = rule.addFactor(size, isSorted ? FactorKind::NeedReplication
                                                   : FactorKind::PassThrough);
    operand.push_back({factor});
    int64_t count = getType().getDimSize(dim);
    if (count != size)
      factor = rule.addFactor(count, FactorKind::NeedReplication);
    result.push_back({factor});
  }
  rule.operands = {operand};
  rule.results = {result};
  return rule;
}

sharding::Linearity ArgsortOp::getLinearity() {
  return sharding::Linearity::NotLinear;
}

bool ArgsortOp::isCpuInstruction() {
  return getOperand().getType().getDimSize(getDim()) > longestCounted;
}

namespace {

class Sorter {
public:
  Sorter(TensorBuilder &b, RankedTensorType type)
      : b(b), shape(type.getShape()), size(shape.back()),
        last(type.getRank() - 1) {}

  Value keysOf(Value x, bool isDescending);
  /// The indices of the first `count` elements.
  Value sort(Value keys, int64_t count);

private:
  Type elementOf(Value x) { return typeOf(x).getElementType(); }
  Value splat(RankedTensorType type, int64_t number) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, Attribute(b.getIntegerAttr(
                                            type.getElementType(), number))));
  }
  Value splat(Value like, int64_t number) {
    return splat(typeOf(like), number);
  }
  Value compare(CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, predicate, x, y);
  }
  Value iota(ArrayRef<int64_t> sizes, int64_t dim) {
    return IotaOp::create(b, RankedTensorType::get(sizes, b.getI32Type()), dim);
  }
  /// The elements of rows of length `size`, repeated along a new dimension
  /// before or behind the last one.
  Value spread(Value x, bool isBehind);
  Value sumOfRows(Value x);
  Value leastOfRows(Value x);
  Value select(Value keys, int64_t count);
  Value isAfter(Value key, Value otherKey, Value index, Value otherIndex);
  Value sortByCounting(Value keys);
  Value sortByNetwork(Value keys);
  void exchange(Value &keys, Value &indices, int64_t distance, int64_t sorted);

  TensorBuilder &b;
  Shape shape;
  const int64_t size, last;
};

} // namespace

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// The bits of a positive float are ordered as the float; those of a negative
/// one the other way round. Zeros and NaNs become one.
Value Sorter::keysOf(Value x, bool isDescending) {
  if (isa<FloatType>(elementOf(x))) {
    if (elementOf(x).getIntOrFloatBitWidth() < 32)
      x = b.convert(x, b.getF32Type());
    auto type = cast<FloatType>(elementOf(x));
    Value nan = arith::ConstantOp::create(
        b, DenseElementsAttr::get(typeOf(x),
                                  APFloat::getQNaN(type.getFloatSemantics())));
    Value zero = b.constant(0, x);
    x = b.select(b.equal(x, zero), zero, x);
    x = b.select(arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x), nan,
                 x);
    unsigned width = type.getWidth();
    Value bits = arith::BitcastOp::create(
        b, typeOf(x).clone(Type(b.getIntegerType(width))), x);
    Value sign = arith::ShRSIOp::create(b, bits, splat(bits, width - 1));
    Value others = arith::AndIOp::create(
        b, sign, splat(bits, APInt::getSignedMaxValue(width).getSExtValue()));
    x = arith::XOrIOp::create(b, bits, others);
  } else if (elementOf(x).isInteger(1)) {
    x = arith::ExtUIOp::create(b, typeOf(x).clone(Type(b.getI32Type())), x);
  } else if (elementOf(x).getIntOrFloatBitWidth() < 32) {
    x = arith::ExtSIOp::create(b, typeOf(x).clone(Type(b.getI32Type())), x);
  }
  return isDescending ? arith::XOrIOp::create(b, x, splat(x, -1)) : x;
}

//===----------------------------------------------------------------------===//
// Counting
//===----------------------------------------------------------------------===//

Value Sorter::spread(Value x, bool isBehind) {
  Shape square = shape;
  square.push_back(size);
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, last + 1));
  if (!isBehind)
    ++dims.back();
  return BroadcastOp::create(b, typeOf(x).clone(square), x, dims);
}

Value Sorter::sumOfRows(Value x) {
  return ReduceOp::create(b, typeOf(x).clone(shape), sharding::Reduction::Sum,
                          x, ArrayRef<int64_t>{last + 1});
}

Value Sorter::isAfter(Value key, Value otherKey, Value index,
                      Value otherIndex) {
  Value isTie =
      arith::AndIOp::create(b, compare(CmpIPredicate::eq, key, otherKey),
                            compare(CmpIPredicate::sgt, index, otherIndex));
  return arith::OrIOp::create(b, compare(CmpIPredicate::sgt, key, otherKey),
                              isTie);
}

Value Sorter::sortByCounting(Value keys) {
  Shape square = shape;
  square.push_back(size);
  Value row = iota(square, last), column = iota(square, last + 1);
  Value isBefore = isAfter(spread(keys, /*isBehind=*/true),
                           spread(keys, /*isBehind=*/false), row, column);
  Value place = sumOfRows(arith::ExtUIOp::create(b, row.getType(), isBefore));
  Value isHere =
      compare(CmpIPredicate::eq, spread(place, /*isBehind=*/false), row);
  return sumOfRows(
      arith::SelectOp::create(b, isHere, column, splat(column, 0)));
}

//===----------------------------------------------------------------------===//
// Network
//===----------------------------------------------------------------------===//

/// Brings pairs at a distance into the order of their blocks of `sorted`
/// elements: every other block is sorted the other way round.
void Sorter::exchange(Value &keys, Value &indices, int64_t distance,
                      int64_t sorted) {
  Shape flat(typeOf(keys).getShape()), paired = flat;
  int64_t groups = flat.back() / (2 * distance);
  paired.pop_back();
  paired.append({groups, 2, distance});
  auto half = [&](Value x, int64_t number) -> Value {
    x = ReshapeOp::create(b, typeOf(x).clone(paired), x);
    Shape starts(paired.size(), 0), limits = paired, halfShape = paired;
    starts[last + 1] = number;
    limits[last + 1] = number + 1;
    halfShape[last + 1] = 1;
    return SliceOp::create(b, typeOf(x).clone(halfShape), x, starts, limits,
                           Shape(paired.size(), 1));
  };
  Value key = half(keys, 0), otherKey = half(keys, 1);
  Value index = half(indices, 0), otherIndex = half(indices, 1);
  Value isWrong = isAfter(key, otherKey, index, otherIndex);
  if (sorted < flat.back()) {
    Value group = iota(typeOf(index).getShape(), last);
    Value block = arith::ShRUIOp::create(
        b, group, splat(group, llvm::Log2_64(sorted / (2 * distance))));
    Value isOdd = compare(CmpIPredicate::ne,
                          arith::AndIOp::create(b, block, splat(block, 1)),
                          splat(block, 0));
    isWrong = arith::XOrIOp::create(b, isWrong, isOdd);
  }
  auto join = [&](Value first, Value second) -> Value {
    Value halves[] = {arith::SelectOp::create(b, isWrong, second, first),
                      arith::SelectOp::create(b, isWrong, first, second)};
    Value pairs = ConcatOp::create(b, ValueRange(halves), last + 1);
    return ReshapeOp::create(b, typeOf(first).clone(flat), pairs);
  };
  keys = join(key, otherKey);
  indices = join(index, otherIndex);
}

Value Sorter::sortByNetwork(Value keys) {
  int64_t padded = llvm::PowerOf2Ceil(size);
  if (padded != size) {
    Shape none(shape.size(), 0), high = none;
    high.back() = padded - size;
    auto most = b.getIntegerAttr(
        elementOf(keys),
        APInt::getSignedMaxValue(elementOf(keys).getIntOrFloatBitWidth()));
    keys = PadOp::create(b, keys, none, high, none, most);
  }
  Value indices = iota(typeOf(keys).getShape(), last);
  for (int64_t sorted = 2; sorted <= padded; sorted *= 2)
    for (int64_t distance = sorted / 2; distance > 0; distance /= 2)
      exchange(keys, indices, distance, sorted);
  if (padded == size)
    return indices;
  Shape none(shape.size(), 0);
  return SliceOp::create(b, indices, none, shape, Shape(shape.size(), 1));
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

/// The least element of each row, in all of its places.
Value Sorter::leastOfRows(Value x) {
  Value least =
      ReduceOp::create(b, sharding::Reduction::Min, x, ArrayRef<int64_t>{last});
  return BroadcastOp::create(b, x.getType(), least,
                             llvm::to_vector(llvm::seq<int64_t>(0, last)));
}

/// The least element that is left, and of equal ones the first, `count` times.
Value Sorter::select(Value keys, int64_t count) {
  Value index = iota(shape, last), isLeft;
  Value behind = splat(index, size);
  Value most = splat(
      keys, APInt::getSignedMaxValue(elementOf(keys).getIntOrFloatBitWidth())
                .getSExtValue());
  SmallVector<Value> found;
  Shape none(shape.size(), 0), one = shape, stride(shape.size(), 1);
  one.back() = 1;
  for (int64_t number = 0; number < count; ++number) {
    Value left = isLeft ? arith::SelectOp::create(b, isLeft, keys, most) : keys;
    Value isLeast = compare(CmpIPredicate::eq, keys, leastOfRows(left));
    if (isLeft)
      isLeast = arith::AndIOp::create(b, isLeast, isLeft);
    Value first =
        leastOfRows(arith::SelectOp::create(b, isLeast, index, behind));
    found.push_back(SliceOp::create(b, first, none, one, stride));
    Value isOther = compare(CmpIPredicate::ne, index, first);
    isLeft = isLeft ? arith::AndIOp::create(b, isLeft, isOther) : isOther;
  }
  return count == 1 ? found.front()
                    : ConcatOp::create(b, ValueRange(found), last).getResult();
}

Value Sorter::sort(Value keys, int64_t count) {
  if (count < size && count <= mostSelected)
    return select(keys, count);
  Value order =
      size <= longestCounted ? sortByCounting(keys) : sortByNetwork(keys);
  if (count == size)
    return order;
  Shape none(shape.size(), 0), limits = shape;
  limits.back() = count;
  return SliceOp::create(b, order, none, limits, Shape(shape.size(), 1));
}

SmallVector<Value> ArgsortOp::decompose(TensorBuilder &b) {
  RankedTensorType type = getOperand().getType();
  Value x = getOperand();
  int64_t dim = getDim(), last = type.getRank() - 1;
  Shape order;
  for (int64_t i = 0; i <= last; ++i)
    if (i != dim)
      order.push_back(i);
  order.push_back(dim);
  if (dim != last)
    x = TransposeOp::create(b, x, order);
  Sorter sorter(b, cast<RankedTensorType>(x.getType()));
  Value result =
      sorter.sort(sorter.keysOf(x, getDescending()), getType().getDimSize(dim));
  if (dim != last)
    result = TransposeOp::create(b, result, invertPermutationVector(order));
  return {result};
}
