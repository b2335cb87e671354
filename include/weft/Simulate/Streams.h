//===- Streams.h - The streams of a rank in virtual time --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank has one stream of kernels and one or two queues of collectives, each
// of which runs what it is given in order. What runs side by side slows each
// other down, as long as it does so:
//
//   kernel       |== 10 us alone ==|~~~ 12 us, of which 10 alone ~~~|
//   collective                     |~~~~~~~~ 15 us ~~~~~~~~|
//
// Time is exact in integer picoseconds, and so the same on every machine.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SIMULATE_STREAMS_H
#define WEFT_SIMULATE_STREAMS_H

#include "weft/Cost/CostModel.h"
#include "weft/Simulate/Usage.h"

#include <deque>
#include <string>

namespace weft::simulate {

struct KernelTime {
  KernelClass kind = KernelClass::Other;
  /// Before it starts, with an idle device; then alone on the device.
  Picoseconds launch = 0, duration = 0;
  /// Its traffic, which collectives compete with.
  double memoryBytesPerSecond = 0;
};

/// What a collective makes of the links in a node, or of those between nodes.
struct LinkUse {
  /// The share of them that it uses when it is alone, and by what factor it
  /// takes longer with half of them.
  double used = 0, halved = 1;

  /// By what factor it takes longer beside another one. Of the two one that
  /// needs less than half of the links leaves the rest.
  double slowdownBeside(const LinkUse &other) const;
};

struct CollectiveTiming {
  cost::CollectiveCall call;
  cost::CollectiveTime time;
  /// Alone.
  Picoseconds duration = 0;
  LinkUse node, network;
  /// Number of its axes.
  size_t axes = 0;
  /// The software computes nothing beside it.
  bool blocks = false;
  /// By level of links.
  std::vector<int64_t> sentBytes;

  double slowdownBeside(const CollectiveTiming &other) const;
};

/// What a stream did, for traces.
struct StreamEvent {
  /// 0 is the stream of kernels, 1 the first queue.
  size_t stream = 0;
  uint32_t instruction = 0;
  Picoseconds begin = 0, end = 0;
  /// The stream of kernels computes nothing: the rank waits for the collective
  /// that the instruction started.
  bool isExposed = false;
};

class Streams {
public:
  /// Those that block do not wait for others: they have a queue of their own.
  Streams(const cost::CostModel &cost, size_t queues, size_t axes);

  /// Levels of links: a node, and those of the network.
  static size_t levelsOf(const cost::Cluster &cluster);

  /// `instruction` is for events. All of them return when the stream of kernels
  /// is done with it.
  void run(const KernelTime &kernel, uint32_t instruction);
  void host(Picoseconds duration);
  /// The stream of kernels has nothing to do.
  void idle(Picoseconds duration);
  void start(size_t queue, const CollectiveTiming &collective,
             uint32_t instruction);
  /// For the collective that the instruction started.
  void wait(size_t queue, uint32_t instruction);

  /// What decides what happens from now on: collectives with what is left of
  /// them, and how far the host is ahead.
  std::vector<int64_t> state() const;
  /// As if what happened since `before` happened `times` more times.
  struct Moment {
    Picoseconds now = 0;
    Usage usage;
  };
  Moment moment() const { return {now, usage}; }
  void repeat(const Moment &before, int64_t times);

  Picoseconds now = 0;
  Usage usage;
  /// What the instructions are of that are run, started and waited for next.
  uint32_t entry = 0;
  /// Their events; filled if asked for.
  std::vector<StreamEvent> *events = nullptr;

private:
  struct InFlight {
    const CollectiveTiming *collective;
    uint32_t entry;
    uint32_t instruction;
    std::vector<StreamEvent> *events;
    /// Alone.
    Picoseconds left;
    Picoseconds begin = 0;
  };
  /// Fixed point: how much longer something takes.
  using Factor = int64_t;
  /// Of the collective in front of a queue.
  struct Active {
    size_t queue;
    Factor factor;
  };

  void recordExposed(const InFlight &awaited, Picoseconds begin);
  Picoseconds advance(const KernelTime *kernel, Picoseconds left,
                      const size_t *waitedQueue);
  void pass(Picoseconds time, const std::vector<Active> &active,
            const size_t *waitedQueue);
  Factor findFactors(const KernelTime *kernel,
                     std::vector<Active> &active) const;
  void issue(KernelClass kind);

  const cost::CostModel &cost;
  std::vector<std::deque<InFlight>> queues;
  /// Of the host, for a kernel or a collective.
  Picoseconds issueTime = 0;
  /// The host has issued what is next so much later than now, or earlier.
  Picoseconds lag = 0;
};

} // namespace weft::simulate

#endif // WEFT_SIMULATE_STREAMS_H
