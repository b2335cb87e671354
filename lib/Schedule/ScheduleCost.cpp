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
static constexpr double sameTime = 0.001;

/// What memory is worth: a schedule may take 1 % longer if it holds 20 % less
/// beside the states, which are held in any schedule.
static constexpr double memoryPrice = 0.05;

/// Lets kernels and all-reduces write over what they are the last to read.
/// Which kernels can is known only when their loops are: any that reads a value
/// of that size.
static void writeInPlace(EntryBuffers &buffers) {
  for (Operation *op : buffers.instructions()) {
    auto start = dyn_cast<StartOp>(op);
    if (!isa<LaunchOp>(op) &&
        !(start && start.getKind() == cost::CollectiveKind::AllReduce))
      continue;
    for (Value result : op->getResults()) {
      // A state is in its place before it is written.
      if (buffers.bufferFor(result).first != buffers.timeOf(op))
        continue;
      for (Value operand : op->getOperands()) {
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
    costs.push_back({predictTimes(entry.front(), model).whole,
                     bytesAlive(entry, *states), states->bytes(roleOf(entry))});
  return costs;
}

/// Of `one` over `other`, as a share of `other`.
static double growth(double one, double other) {
  return other > 0 ? one / other - 1 : one > 0;
}

/// How much worse one is than another of the same entry, as a share of its
/// time.
static double worseBy(const ScheduleCost &one, const ScheduleCost &other) {
  const double time = growth(one.seconds, other.seconds);
  return (std::abs(time) < sameTime ? 0 : time) +
         memoryPrice * growth(one.bytes, other.bytes);
}

bool weft::isBetter(ArrayRef<ScheduleCost> schedule,
                    ArrayRef<ScheduleCost> other) {
  bool isLess = false;
  for (auto [one, two] : llvm::zip_equal(schedule, other)) {
    const double worse = worseBy(one, two);
    if (worse > 0)
      return false;
    isLess |= worse < 0;
  }
  return isLess;
}

bool weft::takesLonger(ArrayRef<ScheduleCost> schedule,
                       ArrayRef<ScheduleCost> other) {
  for (auto [one, two] : llvm::zip_equal(schedule, other))
    if (growth(one.seconds, two.seconds) > sameTime)
      return true;
  return false;
}

int64_t weft::mostBytes(ArrayRef<ScheduleCost> schedule) {
  int64_t most = 0;
  for (const ScheduleCost &entry : schedule)
    most = std::max(most, entry.states + entry.bytes);
  return most;
}
