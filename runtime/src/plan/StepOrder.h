//===- StepOrder.h - The steps of an entry as they are executed -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step is bound once, also where it is in a loop; a walk looks nothing up but
// its number. With 64 micro-batches of a thousand steps the order takes 256
// KiB.
//
//   StepOrder order;
//   order.add(0);
//   order.open(/*count=*/2, /*end=*/4);  // a loop of instructions 2 and 3
//   order.add(1);
//   order.add(2);
//   order.close(4);
//   order.steps()  // {0, 1, 2, 1, 2}
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_PLAN_STEPORDER_H
#define WEFT_RUNTIME_SRC_PLAN_STEPORDER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::runtime {

class StepOrder {
public:
  void add(uint32_t step) { order.push_back(step); }

  /// What is added until `close(end)` is executed `count` times.
  void open(uint32_t count, uint32_t end) {
    loops.push_back({count, end, order.size()});
  }
  /// Ends the loops of the instructions before `instruction`.
  void close(uint32_t instruction) {
    for (; !loops.empty() && loops.back().end <= instruction;
         loops.pop_back()) {
      const size_t begin = loops.back().begin, size = order.size() - begin;
      order.reserve(begin + size * loops.back().count);
      for (size_t i = 0; i < size * (loops.back().count - 1); ++i)
        order.push_back(order[begin + i]);
    }
  }

  const std::vector<uint32_t> &steps() const { return order; }

private:
  struct Loop {
    uint32_t count;
    uint32_t end;
    size_t begin;
  };

  std::vector<uint32_t> order;
  std::vector<Loop> loops;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_PLAN_STEPORDER_H
