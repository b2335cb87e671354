//===- SegmentRun.cpp - One execution of a list of instructions -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SegmentRun.h"

#include "weft/runtime/VisitOperation.h"

#include <algorithm>
#include <map>

using namespace weft;
using namespace weft::simulate;

namespace {

class SegmentRun {
public:
  SegmentRun(const SegmentRequest &request, Streams &streams,
             Recording *recording);

  void runRange(uint32_t begin, uint32_t end);

private:
  void execute(uint32_t at);
  void repeat(uint32_t begin, const plan::Repeat &repeat);
  void startAnchored(uint32_t at);
  void start(uint32_t at);

  bool records() const {
    return recording && recording->events.size() < mostEvents &&
           recording->starts.size() < mostEvents;
  }
  const plan::Instruction &instruction(uint32_t at) const {
    return *request.entry.instructions()->Get(at);
  }

  const SegmentRequest &request;
  Streams &streams;
  Recording *recording;
  /// By instruction, the starts that may come behind its last execution.
  std::map<uint32_t, std::vector<uint32_t>> anchored;
  std::vector<bool> isStarted;
  /// By the id of a collective, what starts it.
  std::vector<uint32_t> starts;
  /// The loops around the current instruction.
  struct Loop {
    uint32_t end;
    bool isLastIteration;
  };
  std::vector<Loop> loops;
};

} // namespace

SegmentRun::SegmentRun(const SegmentRequest &request, Streams &streams,
                       Recording *recording)
    : request(request), streams(streams), recording(recording),
      isStarted(request.entry.instructions()->size()),
      starts(request.queueOf.size()) {
  for (uint32_t at = 0; at < isStarted.size(); ++at)
    if (const auto *start = instruction(at).operation_as_CollectiveStart()) {
      starts[start->id()] = at;
      if (start->behind())
        anchored[*start->behind()].push_back(at);
    }
  streams.events = recording ? &recording->events : nullptr;
}

void SegmentRun::start(uint32_t at) {
  const auto &start = *instruction(at).operation_as_CollectiveStart();
  streams.start(request.queueOf[start.id()], request.prices[at].collective, at);
  isStarted[at] = true;
}

/// The loops that end before the start must be in their last iteration.
void SegmentRun::startAnchored(uint32_t at) {
  const auto found = anchored.find(at);
  if (found == anchored.end())
    return;
  for (uint32_t waiting : found->second)
    if (std::ranges::all_of(loops, [&](const Loop &loop) {
          return loop.end > waiting || loop.isLastIteration;
        }))
      start(waiting);
}

void SegmentRun::execute(uint32_t at) {
  const plan::Instruction &current = instruction(at);
  const InstructionPrice &price = request.prices[at];
  if (records())
    recording->starts.push_back({at, streams.now});
  runtime::visitOperation(
      current,
      [&](const plan::CollectiveStart &) {
        if (!isStarted[at])
          start(at);
        isStarted[at] = false;
      },
      [&](const plan::CollectiveWait &wait) {
        streams.wait(request.queueOf[wait.id()], starts[wait.id()]);
      },
      [&](const runtime::Computation auto &) {
        streams.run(price.kernel, at);
        streams.usage.addFlops(price.flops, price.atPeak, current.recomputes());
      },
      [](const plan::Repeat &) {}); // runRange executes loops
  startAnchored(at);
}

void SegmentRun::repeat(uint32_t begin, const plan::Repeat &repeat) {
  const uint32_t end = begin + repeat.instructions();
  struct Seen {
    uint32_t iteration;
    Streams::Moment moment;
  };
  std::map<std::vector<int64_t>, Seen> seen;
  const bool hasOthers = loops.empty() && repeat.count() == request.turns.from;
  const uint32_t count = hasOthers ? request.turns.to : repeat.count();
  loops.push_back({end, false});
  for (uint32_t i = 0; i < count; ++i) {
    // The last one may start what waits for it.
    const uint32_t last = count - 1;
    if (i < last && !records()) {
      const auto [same, isNew] =
          seen.try_emplace(streams.state(), Seen{i, streams.moment()});
      if (!isNew) {
        const uint32_t period = i - same->second.iteration;
        const uint32_t times = (last - i) / period;
        streams.repeat(same->second.moment, times);
        i += times * period;
        seen.clear();
      }
    }
    loops.back().isLastIteration = i == last;
    runRange(begin, end);
  }
  loops.pop_back();
}

void SegmentRun::runRange(uint32_t begin, uint32_t end) {
  for (uint32_t at = begin; at < end && streams.now < longestStep; ++at)
    if (const auto *loop = instruction(at).operation_as_Repeat()) {
      repeat(at + 1, *loop);
      at += loop->instructions();
    } else {
      execute(at);
    }
}

void simulate::runInstructions(const SegmentRequest &request, Streams &streams,
                               uint32_t begin, uint32_t end,
                               Recording *recording) {
  SegmentRun(request, streams, recording).runRange(begin, end);
  if (recording && (recording->events.size() >= mostEvents ||
                    recording->starts.size() >= mostEvents))
    recording->hasAllEvents = false;
}

SegmentTime simulate::runSegment(const SegmentRequest &request,
                                 const cost::CostModel &cost, bool records) {
  Streams streams(cost, request.queues, request.axes);
  SegmentTime result;
  runInstructions(request, streams, 0, request.entry.instructions()->size(),
                  records ? &result.recording : nullptr);
  result.duration = std::min(streams.now, longestStep);
  result.usage = std::move(streams.usage);
  return result;
}
