//===- EventCount.cpp - Sleep until another thread changes a state --------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EventCount.h"

#include <algorithm>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace weft::runtime {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) &&
                  std::atomic<uint32_t>::is_always_lock_free,
              "a futex is a plain 32-bit word");

std::chrono::nanoseconds times(int factor, std::chrono::nanoseconds timeout) {
  return timeout > noTimeout / factor ? noTimeout : factor * timeout;
}

WaitBudget::WaitBudget(std::chrono::nanoseconds timeout)
    : left(timeout), interval(std::clamp<std::chrono::nanoseconds>(
                         timeout / 8, std::chrono::milliseconds(1),
                         std::chrono::milliseconds(100))),
      lastLook(Clock::now()) {}

Clock::time_point WaitBudget::nextLook() const {
  const Clock::time_point own = left == noTimeout
                                    ? Clock::time_point::max()
                                    : lastLook + std::min(left, interval);
  return outer ? std::min(own, outer->nextLook()) : own;
}

// Twice: a thread that is woken late on a busy machine has waited, too.
bool WaitBudget::isSpent() { return count(2 * interval); }

bool WaitBudget::isSpentByCall() { return count(noTimeout); }

bool WaitBudget::count(std::chrono::nanoseconds most) {
  const bool isOuterSpent = outer && outer->count(most);
  if (left == noTimeout)
    return isOuterSpent;
  const Clock::time_point now = Clock::now();
  left -= std::min<std::chrono::nanoseconds>(now - lastLook, most);
  lastLook = now;
  return isOuterSpent || left.count() <= 0;
}

int EventCount::operation(int futexOperation) const {
  return futexOperation | (isPrivate ? FUTEX_PRIVATE_FLAG : 0);
}

void EventCount::wait(Key key, Clock::time_point deadline) {
  // steady_clock is CLOCK_MONOTONIC, the clock of FUTEX_WAIT_BITSET.
  const auto sinceBoot = deadline.time_since_epoch();
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(sinceBoot);
  timespec time{};
  time.tv_sec = static_cast<time_t>(seconds.count());
  time.tv_nsec =
      static_cast<long>(std::chrono::nanoseconds(sinceBoot - seconds).count());
  syscall(SYS_futex, &epoch, operation(FUTEX_WAIT_BITSET), key, &time, nullptr,
          FUTEX_BITSET_MATCH_ANY);
  sleepers.fetch_sub(1);
}

void EventCount::wakeSleepers() {
  syscall(SYS_futex, &epoch, operation(FUTEX_WAKE), INT_MAX, nullptr, nullptr,
          0);
}

SpinPolicy SpinPolicy::forRanks(int ranks) {
  const unsigned cores = std::thread::hardware_concurrency();
  SpinPolicy policy{.yieldLimit = std::chrono::microseconds(20)};
  if (static_cast<unsigned>(ranks) <= cores) {
    policy.looks = 1000;
    policy.limit = std::chrono::microseconds(2);
  }
  return policy;
}

} // namespace weft::runtime
