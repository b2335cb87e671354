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
//   order.addBehind(1, 3);  // what runs beside the rest of the last iteration
//   order.steps()  // {0, 1, 2, 1, 3, 2}
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_PLAN_STEPORDER_H
#define WEFT_RUNTIME_SRC_PLAN_STEPORDER_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
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

  /// Adds a step as soon as the steps up to `anchor`, which is in a loop that
  /// has been closed, have been executed for the last time; behind those that
  /// were added so before.
  void addBehind(uint32_t anchor, uint32_t step) {
    const auto last =
        std::find_if(order.rbegin(), order.rend(), [&](uint32_t other) {
          return other <= anchor || std::ranges::count(added, other) != 0;
        });
    order.insert(last.base(), step);
    added.push_back(step);
  }

  const std::vector<uint32_t> &steps() const { return order; }

private:
  struct Loop {
    uint32_t count;
    uint32_t end;
    size_t begin;
  };

  std::vector<uint32_t> order;
  /// By `addBehind`.
  std::vector<uint32_t> added;
  std::vector<Loop> loops;
};

/// The last of the steps that an instruction became; none if it has no work.
template <typename Step>
std::optional<uint32_t> lastStepOf(const std::vector<Step> &steps,
                                   uint32_t instruction) {
  for (size_t i = steps.size(); i-- > 0 && steps[i].instruction >= instruction;)
    if (steps[i].instruction == instruction)
      return static_cast<uint32_t>(i);
  return std::nullopt;
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_PLAN_STEPORDER_H
