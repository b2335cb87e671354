//===- ScheduleCost.cpp - What a schedule takes ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleCost.h"

#include "weft/IR/Segments.h"
#include "weft/Schedule/ArenaPlanner.h"
#include "weft/Schedule/EntryBuffers.h"
#include "weft/Schedule/ExplainSchedule.h"

using namespace mlir;
using namespace weft;

/// Times that differ by less are equal, as for orders.
static constexpr double sameTime = 1.001;

/// Lets kernels write over what they are the last to read. Which ones can is
/// known only when their loops are: any that reads a value of that size.
static void writeInPlace(EntryBuffers &buffers) {
  for (Operation *op : buffers.instructions()) {
    auto launch = dyn_cast<LaunchOp>(op);
    if (!launch)
      continue;
    for (Value result : launch.getResults())
      for (Value operand : launch->getOperands()) {
        const int32_t from = buffers.bufferOf(operand),
                      to = buffers.bufferOf(result);
        const EntryBuffer &read = buffers.buffer(from),
                          &written = buffers.buffer(to);
        if (from == to || read.kind != BufferKind::Temporary || read.whole ||
            written.whole || read.bytes != written.bytes ||
            !buffers.isLastUse(from, op))
          continue;
        buffers.merge(from, to);
        break;
      }
  }
}

static int64_t bytesAlive(func::FuncOp entry, const ProgramStates &states) {
  EntryBuffers buffers(entry, states, ResultBinding::Bound);
  writeInPlace(buffers);
  std::vector<ArenaBuffer> laidOut;
  for (const EntryBuffer &buffer : buffers.buffers())
    if (buffer.isLaidOut() && buffer.kind != BufferKind::State &&
        buffer.kind != BufferKind::Constant)
      laidOut.push_back({buffer.first, buffer.last, buffer.bytes});
  return livenessBound(laidOut);
}

FailureOr<std::vector<ScheduleCost>>
weft::costsOf(ModuleOp schedule, const cost::CostModel &model) {
  FailureOr<ProgramStates> states = ProgramStates::collect(schedule);
  if (failed(states))
    return failure();
  std::vector<ScheduleCost> costs;
  for (func::FuncOp entry : findEntries(schedule))
    costs.push_back(
        {predictTimes(entry.front(), model).whole,
         states->bytes(roleOf(entry)) + bytesAlive(entry, *states)});
  return costs;
}

bool weft::isBetter(ArrayRef<ScheduleCost> schedule,
                    ArrayRef<ScheduleCost> other) {
  bool isLess = false;
  for (auto [one, two] : llvm::zip_equal(schedule, other)) {
    if (one.seconds > sameTime * two.seconds || one.bytes > two.bytes)
      return false;
    isLess |= one.bytes < two.bytes || sameTime * one.seconds < two.seconds;
  }
  return isLess;
}

int64_t weft::mostBytes(ArrayRef<ScheduleCost> schedule) {
  int64_t most = 0;
  for (const ScheduleCost &entry : schedule)
    most = std::max(most, entry.bytes);
  return most;
}
