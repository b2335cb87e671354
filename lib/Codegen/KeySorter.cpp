//===- KeySorter.cpp - The order of numbers, in a kernel ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeySorter.h"
#include "ColumnAccumulators.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace weft;

static constexpr int64_t digitBits = 8, digits = 1 << digitBits;

void weft::emitLoop(
    ElementEmitter &e, Value begin, Value end, int64_t step,
    MutableArrayRef<Value> carried,
    llvm::function_ref<void(Value, MutableArrayRef<Value>)> body) {
  auto loop = scf::ForOp::create(
      e.b, e.loc, begin, end, e.ops.i64(step), ArrayRef<Value>(carried),
      [&](OpBuilder &, Location, Value at, ValueRange arguments) {
        e.enterScope();
        SmallVector<Value> next(arguments);
        body(at, next);
        scf::YieldOp::create(e.b, e.loc, next);
        e.leaveScope();
      });
  llvm::copy(loop.getResults(), carried.begin());
}

KeySorter::KeySorter(ElementEmitter &e, Block *entry, int64_t most,
                     int64_t limit)
    : e(e), b(e.b), limit(limit) {
  auto allocate = [&](Type element, int64_t count) -> Array {
    return {allocateElements(b, e.loc, entry, element, count), element};
  };
  Type word = b.getI32Type();
  bool isWide = limit > std::numeric_limits<int32_t>::max();
  keys = allocate(isWide ? b.getI64Type() : word, most);
  items = allocate(word, most);
  others = allocate(word, most);
  counters = allocate(word, digits);
}

Value KeySorter::load(Array array, Value at) {
  Value value = e.load(array.pointer, array.element, e.indices.uniform(at));
  if (array.element.isInteger(64))
    return value;
  return arith::ExtUIOp::create(b, e.loc, b.getI64Type(), value);
}

void KeySorter::store(Value value, Array array, Value at) {
  if (!array.element.isInteger(64))
    value = arith::TruncIOp::create(b, e.loc, array.element, value);
  e.store(value, array.pointer, e.indices.uniform(at));
}

Value KeySorter::append(Value count, Value item, Value key, Value kept) {
  store(key, keys, item);
  store(item, items, count);
  Value one = arith::ExtUIOp::create(b, e.loc, b.getI64Type(), kept);
  return arith::AddIOp::create(b, e.loc, count, one);
}

Value KeySorter::itemAt(Value number) { return load(items, number); }

Value KeySorter::digitOf(Value item, int64_t shift) {
  Value high = arith::ShRUIOp::create(b, e.loc, keyOf(item), e.ops.i64(shift));
  return arith::AndIOp::create(b, e.loc, high, e.ops.i64(digits - 1));
}

/// Counts the digits, finds where the items of each begin, and moves them.
void KeySorter::sortBy(int64_t shift, Value count) {
  Value zero = e.ops.i64(0), one = e.ops.i64(1), all = e.ops.i64(digits);
  auto raise = [&](Value digit) {
    Value before = load(counters, digit);
    store(arith::AddIOp::create(b, e.loc, before, one), counters, digit);
    return before;
  };
  emitLoop(e, zero, all, 1, {}, [&](Value digit, MutableArrayRef<Value>) {
    store(zero, counters, digit);
  });
  emitLoop(e, zero, count, 1, {}, [&](Value number, MutableArrayRef<Value>) {
    raise(digitOf(itemAt(number), shift));
  });
  Value begin[] = {zero};
  emitLoop(e, zero, all, 1, begin,
           [&](Value digit, MutableArrayRef<Value> next) {
             Value here = load(counters, digit);
             store(next[0], counters, digit);
             next[0] = arith::AddIOp::create(b, e.loc, next[0], here);
           });
  emitLoop(e, zero, count, 1, {}, [&](Value number, MutableArrayRef<Value>) {
    Value item = itemAt(number);
    store(item, others, raise(digitOf(item, shift)));
  });
  std::swap(items, others);
}

void KeySorter::sort(Value count) {
  for (int64_t shift = 0, bits = llvm::Log2_64_Ceil(limit); shift < bits;
       shift += digitBits)
    sortBy(shift, count);
}
