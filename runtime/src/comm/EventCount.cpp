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

Clock::time_point deadlineAfter(std::chrono::nanoseconds timeout) {
  const Clock::time_point now = Clock::now();
  if (timeout > Clock::time_point::max() - now)
    return Clock::time_point::max();
  return now + timeout;
}

std::chrono::nanoseconds times(int factor, std::chrono::nanoseconds timeout) {
  return timeout > noTimeout / factor ? noTimeout : factor * timeout;
}

WaitBudget::WaitBudget(std::chrono::nanoseconds timeout)
    : left(timeout), interval(std::clamp<std::chrono::nanoseconds>(
                         timeout / 8, std::chrono::milliseconds(1),
                         std::chrono::milliseconds(100))),
      lastLook(Clock::now()) {}

Clock::time_point WaitBudget::nextLook() const {
  return left == noTimeout ? Clock::time_point::max()
                           : lastLook + std::min(left, interval);
}

bool WaitBudget::isSpent() {
  if (left == noTimeout)
    return false;
  const Clock::time_point now = Clock::now();
  // Twice: a thread that is woken late on a busy machine has waited, too.
  left -= std::min<std::chrono::nanoseconds>(now - lastLook, 2 * interval);
  lastLook = now;
  return left.count() <= 0;
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
  syscall(SYS_futex, &epoch, FUTEX_WAIT_BITSET_PRIVATE, key, &time, nullptr,
          FUTEX_BITSET_MATCH_ANY);
  sleepers.fetch_sub(1);
}

void EventCount::wakeSleepers() {
  syscall(SYS_futex, &epoch, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

SpinPolicy SpinPolicy::forRanks(int ranks) {
  const unsigned cores = std::thread::hardware_concurrency();
  if (static_cast<unsigned>(ranks) <= cores)
    return {.looks = 1000, .limit = std::chrono::microseconds(10)};
  return {.yieldLimit = std::chrono::microseconds(100)};
}

} // namespace weft::runtime
