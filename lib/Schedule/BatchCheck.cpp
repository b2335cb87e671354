//===- BatchCheck.cpp - What an order with batches must satisfy -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sweeps over the steps: by buffer for the order in which they touch it, by
// time for what is alive, by position for the work that has moved.
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/LaunchBatches.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace weft {

namespace {

class Checker {
public:
  Checker(const BatchProgram &program, const BatchOrder &order,
          const BatchOptions &options)
      : program(program), order(order), options(options),
        positions(program.steps.size(), -1) {}

  std::vector<std::string> run();

private:
  void findPositions();
  void checkGroups();
  void checkPairs();
  void checkMemory();
  void checkOverlap();
  void checkCrossing(int32_t collective, double seconds);
  int64_t peak(llvm::ArrayRef<int64_t> times, int64_t end) const;

  template <typename... Values>
  void report(const char *format, Values... values) {
    errors.push_back(llvm::formatv(format, values...).str());
  }

  const BatchProgram &program;
  const BatchOrder &order;
  const BatchOptions &options;
  /// Of each step, -1 if it is missing.
  std::vector<int64_t> positions;
  std::vector<std::string> errors;
};

} // namespace

void Checker::findPositions() {
  for (auto [position, steps] : llvm::enumerate(order))
    for (int32_t step : steps) {
      if (step < 0 || size_t(step) >= positions.size())
        report("unknown step {0}", step);
      else if (positions[step] >= 0)
        report("step {0} is done twice", step);
      else
        positions[step] = position;
    }
  for (auto [step, position] : llvm::enumerate(positions))
    if (position < 0)
      report("step {0} is missing", step);
}

void Checker::checkGroups() {
  int32_t before = -1;
  for (llvm::ArrayRef<int32_t> steps : order) {
    if (steps.size() == 1) {
      if (steps.front() < before)
        report("step {0} is in no batch, but comes behind step {1}",
               steps.front(), before);
      before = std::max(before, steps.front());
      continue;
    }
    int32_t launchKind =
        steps.empty() ? -1 : program.steps[steps.front()].launchKind;
    if (launchKind < 0 || llvm::any_of(
                              steps,
                              [&](int32_t step) {
                                return program.steps[step].launchKind !=
                                       launchKind;
                              }))
      report("the batch of {0} steps is not of one kind", steps.size());
    else if (int64_t(steps.size()) > program.largest[launchKind])
      report("a batch of {0} steps, there can be {1}", steps.size(),
             program.largest[launchKind]);
  }
}

/// A step must come behind all before it that write what it touches, or read
/// what it writes: hence behind the one of them that comes last.
void Checker::checkPairs() {
  std::vector<int32_t> lastWrite(program.buffers.size(), -1),
      lastTouch(program.buffers.size(), -1);
  auto note = [&](int32_t &last, int32_t step) {
    if (last < 0 || positions[step] > positions[last])
      last = step;
  };
  for (auto [number, step] : llvm::enumerate(program.steps)) {
    llvm::SmallVector<int32_t> before;
    for (int32_t buffer : step.reads)
      before.push_back(lastWrite[buffer]);
    for (int32_t buffer : step.writes)
      before.push_back(lastTouch[buffer]);
    llvm::sort(before);
    before.erase(llvm::unique(before), before.end());
    for (int32_t other : before)
      if (other >= 0 && positions[other] >= positions[number])
        report("step {0} must come before step {1}", other, number);
    for (int32_t buffer : step.reads)
      note(lastTouch[buffer], number);
    for (int32_t buffer : step.writes) {
      note(lastTouch[buffer], number);
      note(lastWrite[buffer], number);
    }
  }
}

/// The most bytes alive if each step is done at its time.
int64_t Checker::peak(llvm::ArrayRef<int64_t> times, int64_t end) const {
  int64_t most = 0;
  std::vector<int64_t> first(program.buffers.size(), end),
      last(program.buffers.size(), -1);
  for (auto [step, time] : llvm::zip_equal(program.steps, times))
    for (const auto *touched : {&step.reads, &step.writes})
      for (int32_t buffer : *touched) {
        first[buffer] = std::min(first[buffer], time);
        last[buffer] = std::max(last[buffer], time);
      }
  // What becomes alive at a time, less what is no longer.
  std::vector<int64_t> change(end + 2);
  for (auto [index, buffer] : llvm::enumerate(program.buffers)) {
    bool isUsed = buffer.isInput || buffer.isOutput || last[index] >= 0;
    if (!isUsed)
      continue;
    change[buffer.isInput ? 0 : first[index]] += buffer.bytes;
    if (!buffer.isOutput)
      change[std::max<int64_t>(last[index], 0) + 1] -= buffer.bytes;
  }
  int64_t bytes = 0;
  for (int64_t each : change) {
    bytes += each;
    most = std::max(most, bytes);
  }
  return most;
}

void Checker::checkMemory() {
  std::vector<int64_t> inTurn(positions.size());
  for (size_t step = 0; step < inTurn.size(); ++step)
    inTurn[step] = step;
  int64_t before = peak(inTurn, inTurn.size());
  int64_t after = peak(positions, order.size());
  if (after > before)
    report("{0} bytes are alive at the peak, {1} before", after, before);
}

namespace {
/// Sums over positions, of which prefixes are asked for (a Fenwick tree).
class PositionSums {
public:
  explicit PositionSums(size_t positions) : sums(positions + 1) {}

  void add(size_t position, double value) {
    for (size_t i = position + 1; i < sums.size(); i += i & -i)
      sums[i] += value;
  }
  /// Of all positions before this one.
  double before(size_t position) const {
    double sum = 0;
    for (size_t i = position; i > 0; i -= i & -i)
      sum += sums[i];
    return sum;
  }

private:
  std::vector<double> sums;
};
} // namespace

void Checker::checkCrossing(int32_t collective, double seconds) {
  bool isStart = program.steps[collective].kind == BatchStep::Kind::Starts;
  // The decision adds in another order.
  if (seconds > options.crossingSeconds * (1 + 1e-6))
    report("{0} seconds of work have moved {1} step {2}", seconds,
           isStart ? "ahead of the start at" : "behind the wait at",
           collective);
}

/// Steps behind a start that are now before it, and steps before a wait that
/// are now behind it.
void Checker::checkOverlap() {
  PositionSums earlier(order.size()), later(order.size());
  double total = 0;
  for (auto [number, step] : llvm::enumerate(program.steps)) {
    if (step.kind == BatchStep::Kind::Waits)
      checkCrossing(number, total - earlier.before(positions[number]));
    earlier.add(positions[number], step.seconds);
    total += step.seconds;
  }
  for (size_t number = program.steps.size(); number-- > 0;) {
    const BatchStep &step = program.steps[number];
    if (step.kind == BatchStep::Kind::Starts)
      checkCrossing(number, later.before(positions[number]));
    later.add(positions[number], step.seconds);
  }
}

std::vector<std::string> Checker::run() {
  findPositions();
  if (!errors.empty())
    return std::move(errors);
  checkGroups();
  checkPairs();
  checkMemory();
  checkOverlap();
  return std::move(errors);
}

std::vector<std::string> checkBatches(const BatchProgram &program,
                                      const BatchOrder &order,
                                      const BatchOptions &options) {
  return Checker(program, order, options).run();
}

} // namespace weft
