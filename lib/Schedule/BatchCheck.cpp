//===- BatchCheck.cpp - What an order with batches must satisfy -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every pair of steps, and every buffer at every time: slow and plain.
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
        places(program.steps.size(), -1) {}

  std::vector<std::string> run();

private:
  void findPlaces();
  void checkGroups();
  void checkPairs();
  void checkMemory();
  void checkOverlap(int32_t collective);
  int64_t peak(llvm::ArrayRef<int64_t> times, int64_t end) const;

  template <typename... Values>
  void report(const char *format, Values... values) {
    errors.push_back(llvm::formatv(format, values...).str());
  }

  const BatchProgram &program;
  const BatchOrder &order;
  const BatchOptions &options;
  /// Of each step, -1 if it is missing.
  std::vector<int64_t> places;
  std::vector<std::string> errors;
};

} // namespace

void Checker::findPlaces() {
  for (auto [place, steps] : llvm::enumerate(order))
    for (int32_t step : steps) {
      if (step < 0 || size_t(step) >= places.size())
        report("there is no step {0}", step);
      else if (places[step] >= 0)
        report("step {0} is done twice", step);
      else
        places[step] = place;
    }
  for (auto [step, place] : llvm::enumerate(places))
    if (place < 0)
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
    int32_t sort = steps.empty() ? -1 : program.steps[steps.front()].sort;
    if (sort < 0 ||
        llvm::any_of(
            steps,
            [&](int32_t step) { return program.steps[step].sort != sort; }))
      report("the batch of {0} steps is not of one sort", steps.size());
    else if (int64_t(steps.size()) > program.largest[sort])
      report("a batch of {0} steps, there can be {1}", steps.size(),
             program.largest[sort]);
  }
}

static bool conflict(const BatchStep &a, const BatchStep &b) {
  auto meet = [](llvm::ArrayRef<int32_t> x, llvm::ArrayRef<int32_t> y) {
    return llvm::any_of(x, [&](int32_t i) { return llvm::is_contained(y, i); });
  };
  return meet(a.writes, b.writes) || meet(a.writes, b.reads) ||
         meet(a.reads, b.writes);
}

void Checker::checkPairs() {
  for (size_t b = 0; b < places.size(); ++b)
    for (size_t a = 0; a < b; ++a)
      if (places[a] >= places[b] &&
          conflict(program.steps[a], program.steps[b]))
        report("step {0} must come before step {1}", a, b);
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
  for (int64_t time = 0; time <= end; ++time) {
    int64_t bytes = 0;
    for (auto [index, buffer] : llvm::enumerate(program.buffers)) {
      bool begun = buffer.isInput || first[index] <= time;
      bool over = time > std::max<int64_t>(last[index], 0);
      bool isUsed = buffer.isInput || last[index] >= 0;
      if (buffer.isOutput ? begun : isUsed && begun && !over)
        bytes += buffer.bytes;
    }
    most = std::max(most, bytes);
  }
  return most;
}

void Checker::checkMemory() {
  std::vector<int64_t> inTurn(places.size());
  for (size_t step = 0; step < inTurn.size(); ++step)
    inTurn[step] = step;
  int64_t before = peak(inTurn, inTurn.size());
  int64_t after = peak(places, order.size());
  if (after > before)
    report("{0} bytes are alive at the peak, {1} before", after, before);
}

void Checker::checkOverlap(int32_t collective) {
  bool isStart = program.steps[collective].role == BatchStep::Role::Starts;
  double seconds = 0;
  for (size_t step = 0; step < places.size(); ++step) {
    bool wasBefore = step < size_t(collective);
    bool isBefore = places[step] < places[collective];
    if (wasBefore != isStart && isBefore == isStart &&
        step != size_t(collective))
      seconds += program.steps[step].seconds;
  }
  // The decision adds in another order.
  if (seconds > options.crossingSeconds * (1 + 1e-9))
    report("{0} seconds of work have moved {1} step {2}", seconds,
           isStart ? "ahead of the start at" : "behind the wait at",
           collective);
}

std::vector<std::string> Checker::run() {
  findPlaces();
  if (!errors.empty())
    return std::move(errors);
  checkGroups();
  checkPairs();
  checkMemory();
  for (auto [index, step] : llvm::enumerate(program.steps))
    if (step.role != BatchStep::Role::Computes)
      checkOverlap(index);
  return std::move(errors);
}

std::vector<std::string> checkBatches(const BatchProgram &program,
                                      const BatchOrder &order,
                                      const BatchOptions &options) {
  return Checker(program, order, options).run();
}

} // namespace weft
