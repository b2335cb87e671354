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
#include <thread>

namespace weft::runtime {

using Clock = std::chrono::steady_clock;

/// A timeout for who never stops waiting.
inline constexpr std::chrono::nanoseconds noTimeout =
    std::chrono::nanoseconds::max();

/// `factor * timeout`, at most `noTimeout`.
std::chrono::nanoseconds times(int factor, std::chrono::nanoseconds timeout);

/// How long a thread may still wait. Only time in which the process ran counts:
/// who waits looks often, and of a long gap between two looks, in which the
/// process was stopped (SIGSTOP, a debugger, a frozen container), next to
/// nothing is counted.
class WaitBudget {
public:
  explicit WaitBudget(std::chrono::nanoseconds timeout);
  /// A part of `whole`, at most what is left of it; what is counted here is
  /// counted there.
  WaitBudget(std::chrono::nanoseconds timeout, WaitBudget &whole)
      : WaitBudget(timeout) {
    outer = &whole;
  }

  /// Counts the time since the last call; whether nothing is left.
  bool isSpent();
  /// The same after a call in which nobody could look: all of the gap counts.
  bool isSpentByCall();
  /// When to call `isSpent` next at the latest.
  Clock::time_point nextLook() const;

private:
  bool count(std::chrono::nanoseconds most);

  std::chrono::nanoseconds left;
  /// Between two looks.
  std::chrono::nanoseconds interval;
  Clock::time_point lastLook;
  WaitBudget *outer = nullptr;
};

/// Zeros are one of processes that share its memory; one that is constructed is
/// of the threads of its process.
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
  int operation(int futexOperation) const;

  std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> sleepers{0};
  bool isPrivate = true;
};

/// How long a waiter looks at the state before it sleeps: first it keeps its
/// core, then it gives way to other threads between two looks.
struct SpinPolicy {
  int looks = 0;
  std::chrono::nanoseconds limit{0};
  std::chrono::nanoseconds yieldLimit{0};

  /// Spins for a moment when every rank has a core of its own, and gives way
  /// for about as long as it takes to sleep and be woken. When a spinning rank
  /// would keep another one from running, it gives way at once. Longer is worse
  /// where other programs want the cores (shard-bench, collectives of few
  /// bytes).
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
  const Clock::time_point begin = Clock::now();
  for (int look = 0; look < policy.looks; ++look) {
    if (condition())
      return true;
    pauseCpu();
    if (look % 16 == 15 && Clock::now() > begin + policy.limit)
      break;
  }
  if (policy.yieldLimit.count() != 0)
    for (Clock::time_point now = begin; now < begin + policy.yieldLimit;
         now = Clock::now()) {
      if (condition())
        return true;
      std::this_thread::yield();
    }
  return condition();
}

/// Waits until `condition` holds (true) or nothing of `budget` is left (false).
template <typename Condition>
bool waitUntil(EventCount &event, const SpinPolicy &policy, WaitBudget &budget,
               Condition &&condition) {
  if (condition() || spinUntil(policy, condition))
    return true;
  while (true) {
    const EventCount::Key key = event.prepareWait();
    if (condition()) {
      event.cancelWait();
      return true;
    }
    event.wait(key, budget.nextLook());
    if (condition())
      return true;
    if (budget.isSpent())
      return false;
  }
}

template <typename Condition>
bool waitUntil(EventCount &event, const SpinPolicy &policy,
               std::chrono::nanoseconds timeout, Condition &&condition) {
  WaitBudget budget(timeout);
  return waitUntil(event, policy, budget, condition);
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_EVENTCOUNT_H
