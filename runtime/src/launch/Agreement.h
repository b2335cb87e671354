//===- Agreement.h - What all ranks must have alike -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_LAUNCH_AGREEMENT_H
#define WEFT_RUNTIME_SRC_LAUNCH_AGREEMENT_H

#include "weft/runtime/Bootstrap.h"

#include <string>
#include <vector>

namespace weft::runtime {

/// "the plan", "8c1f02ab". Names and values are of one line.
struct Fact {
  std::string name;
  std::string value;
};

/// Compares facts, the same names in the same order on all ranks. The failure,
/// the same on all ranks, lists every fact that differs: "the ranks differ in
/// the version of NCCL: ranks 0, 1 have 2.28.9, rank 2 has 2.27.3".
Status agree(Bootstrap &bootstrap, const std::vector<Fact> &facts,
             std::chrono::nanoseconds timeout);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_LAUNCH_AGREEMENT_H
