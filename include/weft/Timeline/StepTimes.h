//===- StepTimes.h - Times as people write them -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times as people write them: "F:1,I:1,W:1".
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_STEPTIMES_H
#define WEFT_TIMELINE_STEPTIMES_H

#include "weft/Timeline/Timing.h"

namespace weft::timeline {

/// Costs, or all that is wrong with the text.
struct ParsedCosts {
  Costs costs;
  std::vector<std::string> errors;
};

/// Of a pipeline of `ranks` ranks with one stage each: the times of a forward
/// pass (F), an input gradient (I) and a weight gradient (W) of one
/// micro-batch, 1 if they are not given, and if wanted that of a forward that
/// overlaps a backward pass (FB) and the memory of activations (A, 1).
///   F:1,I:1,W:0.5        of every rank
///   F:1/1/1/2,I:1,W:1    F of each of four ranks
/// As many values as the model has stages are those of the stages.
ParsedCosts parseCosts(std::string_view text, int32_t ranks);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_STEPTIMES_H
