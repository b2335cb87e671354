//===- Lifetimes.h - What is alive in an order of steps ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_LIFETIMES_H
#define WEFT_LIB_SCHEDULE_LIFETIMES_H

#include "weft/Schedule/OverlapOrder.h"

namespace weft {

/// When the results of steps are not needed any more: by the action, which for
/// views is that of what they are views of.
class Lifetimes {
public:
  Lifetimes(llvm::ArrayRef<Step> steps, llvm::ArrayRef<Action> actions);

  /// The most bytes that are alive at once, and the first action at which.
  struct Peak {
    int64_t bytes = 0;
    size_t action = 0;
  };
  Peak peak() const;
  /// The action from which on a step's result takes memory, and the last that
  /// uses it; the number of actions if it is returned.
  size_t beginOf(size_t step) const { return begin[step]; }
  size_t lastUseOf(size_t step) const { return lastUse[step]; }

private:
  void uses(int32_t step, size_t action);

  llvm::ArrayRef<Step> steps;
  llvm::ArrayRef<Action> actions;
  std::vector<size_t> begin, lastUse;
};

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_LIFETIMES_H
