//===- Streams.cpp - The streams of a rank in virtual time ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Simulate/Streams.h"

#include <algorithm>
#include <cmath>

using namespace weft;
using namespace weft::simulate;

/// A host runs ahead of its device until the queue of 1024 launches is full:
/// some four for each matmul.
static constexpr int64_t mostMatmulsAhead = 256;

/// Of a factor: it is fixed point.
static constexpr int64_t one = int64_t(1) << 20;

static int64_t toFactor(double factor) {
  constexpr double most = 1000;
  return std::llround(std::clamp(factor, 1.0, most) * one);
}
/// How long takes what takes `alone` alone, rounded up.
static Picoseconds slowed(Picoseconds alone, int64_t factor) {
  return static_cast<Picoseconds>(
      (static_cast<__int128>(alone) * factor + one - 1) / one);
}
/// What is done of it in a time, rounded down: all of it in `slowed`.
static Picoseconds done(Picoseconds time, int64_t factor) {
  return static_cast<Picoseconds>(static_cast<__int128>(time) * one / factor);
}

size_t Streams::levelsOf(const cost::Cluster &cluster) {
  return 1 + (cluster.network ? cluster.network->levels.size() : 0);
}

Streams::Streams(const cost::CostModel &cost, size_t queues, size_t axes)
    : usage(axes, levelsOf(cost.cluster())), cost(cost), queues(queues + 1),
      issueTime(toPicoseconds(cost.cluster().software.issueSeconds)) {}

double LinkUse::slowdownBeside(const LinkUse &other) const {
  const double left = std::max(0.5, 1 - other.used);
  return 1 + (halved - 1) * (1 / left - 1);
}

double CollectiveTiming::slowdownBeside(const CollectiveTiming &other) const {
  return std::max(node.slowdownBeside(other.node),
                  network.slowdownBeside(other.network));
}

/// Fills in the factors of collectives, and returns that of the kernel.
Streams::Factor Streams::findFactors(const KernelTime *kernel,
                                     std::vector<Active> &active) const {
  double kernelFactor = 1;
  for (Active &each : active) {
    const CollectiveTiming &collective = *queues[each.queue].front().collective;
    double factor = 1;
    if (kernel) {
      const cost::Contention both = cost.contention(
          collective.call, collective.time, kernel->memoryBytesPerSecond);
      kernelFactor = std::max(kernelFactor, both.computeFactor);
      factor = both.communicationFactor;
    }
    for (const Active &other : active)
      if (other.queue != each.queue)
        factor *=
            collective.slowdownBeside(*queues[other.queue].front().collective);
    each.factor = toFactor(factor);
  }
  return toFactor(kernelFactor);
}

/// Until the kernel or the front of a queue ends. Returns what is left of the
/// kernel.
Picoseconds Streams::advance(const KernelTime *kernel, Picoseconds left,
                             const size_t *waitedQueue) {
  std::vector<Active> active;
  for (size_t queue = 0; queue < queues.size(); ++queue)
    if (!queues[queue].empty())
      active.push_back({queue, one});
  const Factor factor = findFactors(kernel, active);
  Picoseconds time = slowed(left, factor);
  for (const Active &each : active)
    time = std::min(time, slowed(queues[each.queue].front().left, each.factor));
  const Picoseconds work = std::min(left, done(time, factor));
  if (kernel) {
    usage.kernels[static_cast<size_t>(kernel->kind)] += time;
    usage.contention += time - work;
  }
  pass(time, active, waitedQueue);
  return left - work;
}

void Streams::pass(Picoseconds time, const std::vector<Active> &active,
                   const size_t *waitedQueue) {
  now += time;
  lag = std::max(lag - time, -issueTime * mostMatmulsAhead);
  for (const Active &each : active) {
    std::deque<InFlight> &queue = queues[each.queue];
    InFlight &front = queue.front();
    Communication &communication = usage.communication[front.collective->axes];
    communication.total += time;
    if (waitedQueue && *waitedQueue == each.queue) {
      communication.exposed += time;
      if (front.events && time > 0)
        recordExposed(front, now - time);
    }
    front.left -= std::min(front.left, done(time, each.factor));
    if (front.left > 0)
      continue;
    if (front.events)
      front.events->push_back(
          {1 + each.queue, front.instruction, front.begin, now, false});
    queue.pop_front();
    if (!queue.empty())
      queue.front().begin = now;
  }
}

/// Until now; one event if it goes on.
void Streams::recordExposed(const InFlight &awaited, Picoseconds begin) {
  std::vector<StreamEvent> &all = *awaited.events;
  if (!all.empty() && all.back().isExposed &&
      all.back().instruction == awaited.instruction && all.back().end == begin)
    all.back().end = now;
  else
    all.push_back({0, awaited.instruction, begin, now, true});
}

/// Software that issues kernels one by one has the same ones around a matmul,
/// however the plan fuses what lies between two of them.
void Streams::issue(KernelClass kind) {
  if (kind != KernelClass::Other)
    lag += issueTime;
}

void Streams::run(const KernelTime &kernel, uint32_t instruction) {
  issue(kernel.kind);
  host(kernel.launch + std::max<Picoseconds>(lag, 0));
  const Picoseconds begin = now;
  for (Picoseconds left = kernel.duration; left > 0;)
    left = advance(&kernel, left, nullptr);
  if (events)
    events->push_back({0, instruction, begin, now, false});
}

void Streams::host(Picoseconds duration) {
  usage.host += duration;
  idle(duration);
}

void Streams::idle(Picoseconds duration) {
  while (duration > 0)
    duration = advance(nullptr, duration, nullptr);
}

void Streams::start(size_t queue, const CollectiveTiming &collective,
                    uint32_t instruction) {
  for (size_t level = 0; level < usage.sentBytes.size(); ++level)
    usage.sentBytes[level] += collective.sentBytes[level];
  // Of a group of one rank.
  if (collective.duration == 0)
    return;
  const size_t used = collective.blocks ? queues.size() - 1 : queue;
  queues[used].push_back(
      {&collective, entry, instruction, events, collective.duration, now});
  if (collective.blocks)
    wait(used, instruction);
}

void Streams::wait(size_t queue, uint32_t instruction) {
  while (std::ranges::any_of(queues[queue], [&](const InFlight &each) {
    return each.entry == entry && each.instruction == instruction;
  }))
    advance(nullptr, longestStep, &queue);
}

std::vector<int64_t> Streams::state() const {
  std::vector<int64_t> state;
  for (const std::deque<InFlight> &queue : queues) {
    for (const InFlight &each : queue) {
      state.push_back(each.instruction);
      state.push_back(each.left);
    }
    state.push_back(-1);
  }
  state.push_back(lag);
  return state;
}

void Streams::repeat(const Moment &before, int64_t times) {
  const Moment after = moment();
  now = static_cast<Picoseconds>(std::min<__int128>(
      static_cast<__int128>(after.now - before.now) * times + after.now,
      longestStep));
  usage.addDifference(after.usage, before.usage, times);
}
