//===- PendingNodes.h - The nodes that wait for a visit ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_LIB_PROPAGATE_PENDINGNODES_H
#define WEFT_LIB_PROPAGATE_PENDINGNODES_H

#include <cstddef>
#include <vector>

namespace weft::propagation {

/// A stack of numbers below a bound in which a number stands once: what is
/// pushed again while it waits keeps its position.
class PendingNodes {
public:
  explicit PendingNodes(size_t bound) : waits(bound, false) {}

  bool empty() const { return stack.empty(); }

  void push(size_t number) {
    if (waits[number])
      return;
    waits[number] = true;
    stack.push_back(number);
  }

  /// Removes the number that was pushed last. The stack is not empty.
  size_t pop() {
    size_t number = stack.back();
    stack.pop_back();
    waits[number] = false;
    return number;
  }

private:
  std::vector<size_t> stack;
  std::vector<bool> waits;
};

} // namespace weft::propagation

#endif // WEFT_LIB_PROPAGATE_PENDINGNODES_H
