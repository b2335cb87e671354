//===- Lifetimes.cpp - What is alive in an order of steps -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lifetimes.h"

#include <algorithm>

using namespace weft;

Lifetimes::Lifetimes(llvm::ArrayRef<Step> steps, llvm::ArrayRef<Action> actions)
    : steps(steps), actions(actions), begin(steps.size()),
      lastUse(steps.size()) {
  for (size_t i = 0; i < actions.size(); ++i) {
    const Action &action = actions[i];
    if (!action.isWait)
      begin[action.step] = i;
    uses(action.step, i);
    // The wait is the last that touches the operand of a collective.
    for (int32_t operand : steps[action.step].operands)
      uses(operand, i);
  }
  for (size_t step = steps.size(); step-- > 0;)
    if (steps[step].isReturned)
      uses(int32_t(step), actions.size());
  // A view keeps what it is of, which comes earlier in the program.
  for (size_t step = steps.size(); step-- > 0;)
    if (steps[step].isView)
      for (int32_t operand : steps[step].operands)
        uses(operand, lastUse[step]);
}

void Lifetimes::uses(int32_t step, size_t action) {
  lastUse[step] = std::max(lastUse[step], action);
}

Lifetimes::Peak Lifetimes::peak() const {
  std::vector<int64_t> taken(actions.size()), freed(actions.size() + 1);
  for (size_t step = 0; step < steps.size(); ++step) {
    taken[begin[step]] += steps[step].bytes;
    freed[lastUse[step]] += steps[step].bytes;
  }
  int64_t alive = 0;
  Peak most;
  auto count = [&](size_t action) {
    if (alive > most.bytes)
      most = {alive, action};
  };
  for (size_t i = 0; i < actions.size(); ++i) {
    alive += taken[i];
    if (steps[actions[i].step].isApart)
      count(i);
    alive -= freed[i];
    count(i);
  }
  return most;
}
