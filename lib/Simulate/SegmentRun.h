//===- SegmentRun.h - One execution of a list of instructions ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the ranks of a role do from the start to the end of an entry, or of a
// segment of a pipeline. All collectives end in it, so that it takes the same
// time wherever it is run, unless those of another segment go on beside it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SIMULATE_SEGMENTRUN_H
#define WEFT_LIB_SIMULATE_SEGMENTRUN_H

#include "Prices.h"

#include "weft/Simulate/Prediction.h"

namespace weft::simulate {

struct SegmentTime {
  Picoseconds duration = 0;
  Usage usage;
  /// Filled if asked for.
  Recording recording;
};

struct SegmentRequest {
  const plan::Entry &entry;
  const std::vector<InstructionPrice> &prices;
  /// Of collectives, by their id: the queue.
  std::vector<size_t> queueOf;
  size_t queues = 1;
  size_t axes = 0;
  Turns turns = {};
};

/// Loops are executed until they repeat themselves; the rest of the iterations
/// is added up. As long as events are recorded, all of them are executed.
SegmentTime runSegment(const SegmentRequest &request,
                       const cost::CostModel &cost, bool records);
/// The instructions from `begin` to `end`, on streams that may have collectives
/// of others. Their events are added to a recording, if there is one.
void runInstructions(const SegmentRequest &request, Streams &streams,
                     uint32_t begin, uint32_t end, Recording *recording);

} // namespace weft::simulate

#endif // WEFT_LIB_SIMULATE_SEGMENTRUN_H
