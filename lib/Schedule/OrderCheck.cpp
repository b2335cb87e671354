//===- OrderCheck.cpp - What a schedule must satisfy ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/OverlapOrder.h"

#include "llvm/Support/FormatVariadic.h"

namespace weft {

std::vector<std::string> checkOrder(llvm::ArrayRef<Step> steps,
                                    llvm::ArrayRef<Action> actions) {
  enum State { Absent, UnderWay, Done };
  std::vector<State> states(steps.size(), Absent);
  std::vector<std::string> errors;
  auto report = [&](const char *format, auto... values) {
    errors.push_back(llvm::formatv(format, values...).str());
  };
  for (const Action &action : actions) {
    if (action.step < 0 || size_t(action.step) >= steps.size()) {
      report("unknown step {0}", action.step);
      continue;
    }
    const Step &step = steps[action.step];
    State &state = states[action.step];
    if (action.isWait) {
      if (state != UnderWay)
        report("wait for step {0}, which is not under way", action.step);
      state = Done;
      continue;
    }
    if (state != Absent)
      report("step {0} is done twice", action.step);
    for (int32_t operand : step.operands)
      if (states[operand] != Done)
        report("step {0} is done before its operand {1} is there", action.step,
               operand);
    state = step.isCollective ? UnderWay : Done;
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    if (states[i] == Absent)
      report("step {0} is missing", i);
    if (states[i] == UnderWay)
      report("step {0} has no wait", i);
  }
  return errors;
}

} // namespace weft
