//===- KeySorter.h - The order of numbers, in a kernel ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits a stable radix sort of a few thousand numbers on the stack: a digit of
// 8 bits at a time, as many as the largest key has.
//
// Example: of the keys 5, 2, 5 of the items 0, 1, 2 the order is 1, 0, 2.

#ifndef WEFT_LIB_CODEGEN_KEYSORTER_H
#define WEFT_LIB_CODEGEN_KEYSORTER_H

#include "ElementEmitter.h"

namespace weft {

/// Emits `body` for each of the numbers from `begin` to before `end`, in a
/// scope of its own, with values that go from one iteration to the next.
void emitLoop(ElementEmitter &e, mlir::Value begin, mlir::Value end,
              int64_t step, llvm::MutableArrayRef<mlir::Value> carried,
              llvm::function_ref<void(mlir::Value at,
                                      llvm::MutableArrayRef<mlir::Value> next)>
                  body);

/// Items are numbers (i64) below `most`, keys are below `limit`.
class KeySorter {
public:
  /// Memory is taken where `entry`, of the function, begins.
  KeySorter(ElementEmitter &e, mlir::Block *entry, int64_t most, int64_t limit);

  /// Adds an item as number `count`, to be replaced by the next one unless it
  /// is `kept`; gives the next count.
  mlir::Value append(mlir::Value count, mlir::Value item, mlir::Value key,
                     mlir::Value kept);
  /// Sorts `count` items.
  void sort(mlir::Value count);
  /// Of those sorted, or its key.
  mlir::Value itemAt(mlir::Value number);
  mlir::Value keyAt(mlir::Value number) { return keyOf(itemAt(number)); }

private:
  struct Array {
    mlir::Value pointer;
    mlir::Type element;
  };
  mlir::Value load(Array array, mlir::Value at);
  void store(mlir::Value value, Array array, mlir::Value at);
  mlir::Value keyOf(mlir::Value item) { return load(keys, item); }
  mlir::Value digitOf(mlir::Value item, int64_t shift);
  void sortBy(int64_t shift, mlir::Value count);

  ElementEmitter &e;
  mlir::OpBuilder &b;
  int64_t limit;
  /// `keys` by item; `items` in their order, which goes to `others` and back.
  Array keys, items, others, counters;
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_KEYSORTER_H
