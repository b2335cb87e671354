//===- Verify.h - What the verifier says of a broken plan -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_PLAN_VERIFY_H
#define WEFT_RUNTIME_TEST_PLAN_VERIFY_H

#include "SamplePlan.h"

#include <gmock/gmock.h>

#include <functional>

namespace weft::runtime {

/// The message about a plan, or "" when it is accepted.
inline std::string verdict(const PlanBuilder &builder) {
  const Result<Plan> plan = Plan::parse(builder.bytes());
  return plan.ok() ? "" : plan.status().message();
}

/// One way to change the sample plan and what must be said about it; nothing
/// when the change is allowed.
struct Breakage {
  std::function<void(SamplePlan &)> change;
  std::string message;
};

inline void expectVerdicts(const std::vector<Breakage> &breakages) {
  for (const Breakage &breakage : breakages) {
    SamplePlan sample(2);
    breakage.change(sample);
    if (breakage.message.empty())
      EXPECT_EQ(verdict(sample), "");
    else
      EXPECT_THAT(verdict(sample), testing::HasSubstr(breakage.message));
  }
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_PLAN_VERIFY_H
