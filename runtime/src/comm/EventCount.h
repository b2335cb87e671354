//===- EventCount.h - Sleep until another thread changes a state -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// std::atomic::wait has no timeout, and a condition variable costs its mutex
// on every meeting of the ranks. An event count is a futex and two counters:
// who changes the watched state calls notifyAll, who waits asks for a key,
// looks at the state once more, and sleeps while the key is current.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_EVENTCOUNT_H
#define WEFT_RUNTIME_COMM_EVENTCOUNT_H

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weft::runtime {

using Clock = std::chrono::steady_clock;

/// `timeout` from now; the end of time when that cannot be represented.
Clock::time_point deadlineAfter(std::chrono::nanoseconds timeout);

class EventCount {
public:
  using Key = uint32_t;

  Key prepareWait() {
    sleepers.fetch_add(1);
    return epoch.load();
  }
  /// Sleeps until a notifyAll after `prepareWait`, `deadline`, or for no
  /// reason. Every prepareWait is followed by one wait or one cancelWait.
  void wait(Key key, Clock::time_point deadline);
  void cancelWait() { sleepers.fetch_sub(1); }

  /// Wakes all waiters; one atomic addition when there are none.
  void notifyAll() {
    epoch.fetch_add(1);
    if (sleepers.load() != 0)
      wakeSleepers();
  }

private:
  void wakeSleepers();

  std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> sleepers{0};
};

/// How long a waiter looks at the state before it sleeps.
struct SpinPolicy {
  int looks = 0;
  std::chrono::nanoseconds limit{0};

  /// About as long as it takes to sleep and be woken when every rank has a core
  /// of its own; hardly at all when a spinning rank would keep another one
  /// from running.
  static SpinPolicy forRanks(int ranks);
};

inline void pauseCpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins for as long as `policy` says or until `condition` holds.
template <typename Condition>
bool spinUntil(const SpinPolicy &policy, Condition &&condition) {
  const Clock::time_point end = Clock::now() + policy.limit;
  for (int look = 0; look < policy.looks; ++look) {
    if (condition())
      return true;
    pauseCpu();
    if (look % 16 == 15 && Clock::now() > end)
      break;
  }
  return condition();
}

/// Waits until `condition` holds (true) or `deadline` has passed (false).
template <typename Condition>
bool waitUntil(EventCount &event, const SpinPolicy &policy,
               Clock::time_point deadline, Condition &&condition) {
  if (condition() || spinUntil(policy, condition))
    return true;
  while (true) {
    const EventCount::Key key = event.prepareWait();
    if (condition()) {
      event.cancelWait();
      return true;
    }
    event.wait(key, deadline);
    if (condition())
      return true;
    if (Clock::now() >= deadline)
      return false;
  }
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_EVENTCOUNT_H
