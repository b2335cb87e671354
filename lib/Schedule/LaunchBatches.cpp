//===- LaunchBatches.cpp - Which launches can be one ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/LaunchBatches.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

namespace weft {

namespace {

using Kind = BatchStep::Kind;

/// Where a launch may go: behind position `after` of the order, before position
/// `before`.
struct Range {
  int64_t after = -1, before = std::numeric_limits<int64_t>::max();
};

/// How many starts and waits come before a step.
struct Crossings {
  int32_t starts = 0, waits = 0;
};

class Batcher {
public:
  Batcher(const BatchProgram &program, const BatchOptions &options);
  BatchOrder run();

private:
  using Members = llvm::ArrayRef<int32_t>;

  void batchKind(int32_t launchKind);
  void findRanges();
  Members findRun(Members members, int64_t largest) const;
  Members largestThatFits(Members run) const;
  BatchOrder joined(Members members) const;
  bool fits(const BatchOrder &changed) const;
  int64_t peakOf(const BatchOrder &order) const;
  std::vector<Crossings> crossingsOf(const BatchOrder &order) const;
  bool keepsOverlap(const BatchOrder &changed) const;

  const BatchProgram &program;
  const BatchOptions &options;
  BatchOrder order;
  /// Of the program as it was.
  int64_t peak = 0;
  std::vector<Crossings> crossings;
  int32_t starts = 0, waits = 0;
  /// For each step its position in the order, and where it may go.
  std::vector<int64_t> positions;
  std::vector<Range> ranges;
};

/// Buffers that some steps touch.
class Touched {
public:
  void add(const BatchStep &step) {
    for (int32_t buffer : step.reads)
      isWritten.try_emplace(buffer, false);
    for (int32_t buffer : step.writes)
      isWritten[buffer] = true;
  }
  /// Whether `step` must stay before or behind one of the steps.
  bool conflictWith(const BatchStep &step) const {
    return llvm::any_of(step.reads,
                        [&](int32_t b) { return isWritten.lookup(b); }) ||
           llvm::any_of(step.writes,
                        [&](int32_t b) { return isWritten.contains(b); });
  }

private:
  llvm::DenseMap<int32_t, bool> isWritten;
};

} // namespace

Batcher::Batcher(const BatchProgram &program, const BatchOptions &options)
    : program(program), options(options), positions(program.steps.size()),
      ranges(program.steps.size()) {
  for (size_t step = 0; step < program.steps.size(); ++step)
    order.push_back({int32_t(step)});
  peak = peakOf(order);
  crossings = crossingsOf(order);
  for (const BatchStep &step : program.steps) {
    starts += step.kind == Kind::Starts;
    waits += step.kind == Kind::Waits;
  }
}

//===----------------------------------------------------------------------===//
// What a change costs
//===----------------------------------------------------------------------===//

int64_t Batcher::peakOf(const BatchOrder &order) const {
  int64_t end = order.size();
  std::vector<std::pair<int64_t, int64_t>> alive(program.buffers.size(),
                                                 {end, -1});
  for (auto [position, steps] : llvm::enumerate(order))
    for (int32_t step : steps)
      for (const auto *touched :
           {&program.steps[step].reads, &program.steps[step].writes})
        for (int32_t buffer : *touched) {
          alive[buffer].first =
              std::min<int64_t>(alive[buffer].first, position);
          alive[buffer].second = position;
        }
  // Bytes at each position, as differences.
  std::vector<int64_t> bytes(end + 2);
  for (auto [buffer, span] : llvm::zip_equal(program.buffers, alive)) {
    if (buffer.isInput)
      span = {0, std::max<int64_t>(span.second, 0)};
    if (buffer.isOutput)
      span.second = end;
    if (span.first > span.second)
      continue;
    bytes[span.first] += buffer.bytes;
    bytes[span.second + 1] -= buffer.bytes;
  }
  int64_t now = 0, most = 0;
  for (int64_t change : bytes)
    most = std::max(most, now += change);
  return most;
}

std::vector<Crossings> Batcher::crossingsOf(const BatchOrder &order) const {
  std::vector<Crossings> result(program.steps.size());
  Crossings now;
  for (llvm::ArrayRef<int32_t> steps : order)
    for (int32_t step : steps) {
      result[step] = now;
      now.starts += program.steps[step].kind == Kind::Starts;
      now.waits += program.steps[step].kind == Kind::Waits;
    }
  return result;
}

bool Batcher::keepsOverlap(const BatchOrder &changed) const {
  // Seconds that now come before a start, and behind a wait, as differences.
  std::vector<double> ahead(starts + 1), behind(waits + 1);
  std::vector<Crossings> now = crossingsOf(changed);
  for (auto [step, before, after] :
       llvm::zip_equal(program.steps, crossings, now)) {
    if (after.starts < before.starts) {
      ahead[after.starts] += step.seconds;
      ahead[before.starts] -= step.seconds;
    }
    if (after.waits > before.waits) {
      behind[before.waits] += step.seconds;
      behind[after.waits] -= step.seconds;
    }
  }
  auto isSmall = [&](llvm::ArrayRef<double> changes) {
    double seconds = 0;
    return llvm::all_of(changes, [&](double change) {
      return (seconds += change) <= options.crossingSeconds;
    });
  };
  return isSmall(ahead) && isSmall(behind);
}

bool Batcher::fits(const BatchOrder &changed) const {
  return peakOf(changed) <= peak && keepsOverlap(changed);
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

void Batcher::findRanges() {
  const int64_t end = order.size();
  // The last step that writes a buffer, and that touches it, as positions.
  std::vector<int64_t> writer, toucher;
  auto visit = [&](int64_t position,
                   llvm::function_ref<void(Range &, int64_t)> keep) {
    for (int32_t number : order[position]) {
      for (int32_t buffer : program.steps[number].reads)
        keep(ranges[number], writer[buffer]);
      for (int32_t buffer : program.steps[number].writes)
        keep(ranges[number], toucher[buffer]);
    }
    for (int32_t number : order[position]) {
      for (int32_t buffer : program.steps[number].reads)
        toucher[buffer] = position;
      for (int32_t buffer : program.steps[number].writes)
        toucher[buffer] = writer[buffer] = position;
    }
  };
  for (int64_t position = 0; position < end; ++position)
    for (int32_t number : order[position]) {
      positions[number] = position;
      ranges[number] = {-1, end};
    }
  writer.assign(program.buffers.size(), -1);
  toucher = writer;
  for (int64_t position = 0; position < end; ++position)
    visit(position, [](Range &range, int64_t at) {
      range.after = std::max(range.after, at);
    });
  writer.assign(program.buffers.size(), end);
  toucher = writer;
  for (int64_t position = end; position-- > 0;)
    visit(position, [](Range &range, int64_t at) {
      range.before = std::min(range.before, at);
    });
}

/// The first members, as many as have a position in common; at least one.
Batcher::Members Batcher::findRun(Members members, int64_t largest) const {
  Range common;
  Touched touched;
  for (auto [count, member] : llvm::enumerate(members)) {
    const BatchStep &step = program.steps[member];
    common.after = std::max(common.after, ranges[member].after);
    common.before = std::min(common.before, ranges[member].before);
    if (count > 0 &&
        (int64_t(count) >= largest || common.after >= common.before ||
         touched.conflictWith(step)))
      return members.take_front(count);
    touched.add(step);
  }
  return members;
}

/// The order with members that have a position in common as one.
BatchOrder Batcher::joined(Members members) const {
  int64_t before = order.size();
  std::vector<bool> isMember(program.steps.size());
  for (int32_t member : members) {
    before = std::min(before, ranges[member].before);
    isMember[member] = true;
  }
  int64_t goal = std::min(positions[members.back()], before);
  BatchOrder result;
  result.reserve(order.size());
  for (int64_t position = 0; position < int64_t(order.size()); ++position) {
    if (position == goal)
      result.emplace_back(members.begin(), members.end());
    if (!isMember[order[position].front()])
      result.push_back(order[position]);
  }
  return result;
}

Batcher::Members Batcher::largestThatFits(Members run) const {
  size_t low = 1, high = run.size() + 1;
  for (size_t count = run.size(); high - low > 1; count = (low + high) / 2)
    (fits(joined(run.take_front(count))) ? low : high) = count;
  return run.take_front(low);
}

void Batcher::batchKind(int32_t launchKind) {
  std::vector<int32_t> all;
  for (llvm::ArrayRef<int32_t> steps : order)
    if (program.steps[steps.front()].launchKind == launchKind)
      all.push_back(steps.front());
  bool isStale = true;
  for (Members left = all; left.size() > 1;) {
    if (isStale)
      findRanges();
    Members batch = largestThatFits(findRun(left, program.largest[launchKind]));
    isStale = batch.size() > 1;
    if (isStale)
      order = joined(batch);
    left = left.drop_front(batch.size());
  }
}

BatchOrder Batcher::run() {
  for (size_t launchKind = 0; launchKind < program.largest.size(); ++launchKind)
    batchKind(launchKind);
  return std::move(order);
}

BatchOrder batchLaunches(const BatchProgram &program,
                         const BatchOptions &options) {
  return Batcher(program, options).run();
}

} // namespace weft
