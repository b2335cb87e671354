//===- Bubbles.h - When ranks of a pipeline have no work --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of recorded runs: a rank is in a bubble from the first segment that any rank
// runs to the last one, but for its own segments.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_EXECUTOR_BUBBLES_H
#define WEFT_RUNTIME_SRC_EXECUTOR_BUBBLES_H

#include "executor/Trace.h"

namespace weft::runtime {

struct Bubble {
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
};

/// By rank, in the order of time. None for entries without segments.
std::vector<std::vector<Bubble>>
findBubbles(const plan::Plan &plan,
            const std::vector<const RankTrace *> &ranks);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_BUBBLES_H
