//===- FastestOrder.cpp - The fastest order that fits memory --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How far steps may pass each other, and how many all-gathers may be under way,
// decides between overlap and memory, and no choice is the best for all
// programs. A schedule takes next to no time to make, so some are.
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/OverlapOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

namespace weft {

namespace {

/// When the results of steps are not needed any more: by the action, which for
/// views is that of what they are views of.
class Lifetimes {
public:
  Lifetimes(llvm::ArrayRef<Step> steps, llvm::ArrayRef<Action> actions);

  int64_t peak() const;

private:
  void uses(int32_t step, size_t action);

  llvm::ArrayRef<Step> steps;
  llvm::ArrayRef<Action> actions;
  std::vector<size_t> lastUse;
};

} // namespace

Lifetimes::Lifetimes(llvm::ArrayRef<Step> steps, llvm::ArrayRef<Action> actions)
    : steps(steps), actions(actions), lastUse(steps.size()) {
  for (size_t i = 0; i < actions.size(); ++i) {
    const Action &action = actions[i];
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
    if (steps[step].bytes == 0)
      for (int32_t operand : steps[step].operands)
        uses(operand, lastUse[step]);
}

void Lifetimes::uses(int32_t step, size_t action) {
  lastUse[step] = std::max(lastUse[step], action);
}

int64_t Lifetimes::peak() const {
  std::vector<int64_t> freed(actions.size() + 1);
  for (size_t step = 0; step < steps.size(); ++step)
    freed[lastUse[step]] += steps[step].bytes;
  int64_t alive = 0, most = 0;
  for (size_t i = 0; i < actions.size(); ++i) {
    if (!actions[i].isWait)
      alive += steps[actions[i].step].bytes;
    alive -= freed[i];
    most = std::max(most, alive);
  }
  return most;
}

OrderCost costOf(llvm::ArrayRef<Step> steps, llvm::ArrayRef<Action> actions) {
  int64_t now = 0;
  std::map<int32_t, int64_t> links;
  std::vector<int64_t> ends(steps.size());
  for (const Action &action : actions) {
    const Step &step = steps[action.step];
    if (action.isWait) {
      now = std::max(now, ends[action.step]);
    } else if (step.isCollective) {
      int64_t &link = links[step.link];
      ends[action.step] = link = std::max(link, now) + step.picoseconds;
    } else {
      now += step.picoseconds;
    }
  }
  return {now, Lifetimes(steps, actions).peak()};
}

std::vector<Action> fastestOrder(llvm::ArrayRef<Step> steps, double growth,
                                 int64_t beside) {
  std::vector<Action> best = programOrder(steps);
  if (llvm::none_of(steps, [](const Step &step) { return step.isCollective; }))
    return best;
  const OrderCost program = costOf(steps, best);
  const double most =
      double(program.bytes) + growth * double(program.bytes + beside);
  // One that is as fast as the program's is as good as that.
  int64_t least = program.picoseconds + 1;
  for (const OverlapOptions &options : {OverlapOptions{16, 2},
                                        {64, 4},
                                        {64, 2},
                                        {16, 4},
                                        {16, 2, true},
                                        {64, 4, true},
                                        {16, 1},
                                        {4, 2},
                                        {4, 2, true},
                                        {4, 1},
                                        {1, 1}}) {
    std::vector<Action> actions = overlapOrder(steps, options);
    const OrderCost cost = costOf(steps, actions);
    if (double(cost.bytes) > most || cost.picoseconds >= least)
      continue;
    best = std::move(actions);
    least = cost.picoseconds;
  }
  return best;
}

} // namespace weft
