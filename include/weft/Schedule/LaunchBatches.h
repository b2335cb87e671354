//===- LaunchBatches.h - Which launches can be one --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A training step launches some kernels once for each parameter: a launch costs
// a GPU about as much as moving several megabytes does. Launches of one kind
// (one kernel, one choice of results in place) can be one launch with several
// sets of arguments where one position in the program is behind everything that
// any of them needs and before everything that needs one of them:
//
//   a = cast(p)  x = gemm(a)  b = cast(q)  y = gemm(x, b)
//   a, b = cast(p, q)  x = gemm(a)  y = gemm(x, b)
//
// To bring launches together some are moved. A batch is as late as it can be,
// but not later than its last launch was. Two rules bound what that costs:
//
// - Memory. What is made early or released late is alive for longer. At no time
//   more bytes may be alive than at the peak of the program as it was: casts of
//   weights come together while the forward pass has room for their results,
//   updates of parameters while the backward pass has room for the gradients
//   that wait for them. Where memory is short they stay where they were.
// - Overlap. Work that moves ahead of the start of a collective delays it, and
//   work that moves behind the wait for one no longer hides it. For each start
//   and each wait, such work takes at most `crossingSeconds` in all.
//
// Nothing else moves, so collectives keep their order and their positions
// between the other steps.
//
// `checkBatches` is the specification: it shares no code with the decision.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SCHEDULE_LAUNCHBATCHES_H
#define WEFT_SCHEDULE_LAUNCHBATCHES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// An instruction of an entry.
struct BatchStep {
  enum class Kind : uint8_t { Computes, Starts, Waits };

  /// The buffers that it touches, by number. The start of a collective and the
  /// wait for it touch the same: the source is read, the destination written.
  llvm::SmallVector<int32_t, 4> reads, writes;
  /// Launches of one kind may become one; what has a negative one may not.
  int32_t launchKind = -1;
  Kind kind = Kind::Computes;
  /// Estimated duration.
  double seconds = 0;
};

/// A buffer that shares the memory of others when it is not alive: from the
/// first step that touches it to the last.
struct BatchBuffer {
  int64_t bytes = 0;
  /// It holds an input, from the beginning; an output, to the end.
  bool isInput = false, isOutput = false;
};

struct BatchProgram {
  std::vector<BatchStep> steps;
  std::vector<BatchBuffer> buffers;
  /// For each kind, of how many launches one can be made.
  std::vector<int64_t> largest;
};

struct BatchOptions {
  /// Work that may move across a start or a wait.
  double crossingSeconds = 0;
};

/// The steps in an order; those of one element are one launch.
using BatchOrder = std::vector<llvm::SmallVector<int32_t, 1>>;

BatchOrder batchLaunches(const BatchProgram &program,
                         const BatchOptions &options);

/// Everything that is wrong with an order, in words; empty if it is right: a
/// step that is missing or done twice, launches of different kinds or too many
/// in one batch, steps that touch a buffer in another order than the program or
/// at once, a step of no kind that has moved, more bytes alive than before,
/// work that has moved ahead of a start or behind a wait.
std::vector<std::string> checkBatches(const BatchProgram &program,
                                      const BatchOrder &order,
                                      const BatchOptions &options);

} // namespace weft

#endif // WEFT_SCHEDULE_LAUNCHBATCHES_H
