//===- Store.cpp - Keys and values that all ranks see -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launch/Store.h"

#include "comm/Call.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace weft::runtime {

// By asking again and again: a value that is waited for arrives once or twice
// in the life of a job, and a thread that asks something else meanwhile, as a
// watcher does, never stands behind one that waits.
Result<std::optional<std::string>> Store::wait(const std::string &key,
                                               WaitBudget &budget) {
  for (Backoff backoff;; backoff.sleep(budget)) {
    WEFT_ASSIGN_OR_RETURN(std::optional<std::string> value, find(key));
    if (value || budget.isSpent())
      return value;
  }
}

Status MemoryStore::set(const std::string &key, const std::string &value) {
  std::lock_guard<std::mutex> lock(mutex);
  values[key] = value;
  return {};
}

Result<std::optional<std::string>> MemoryStore::find(const std::string &key) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = values.find(key);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

std::string lostKey(int rank) { return fmt::format("lost/{}", rank); }

std::string leftKey(int rank) { return fmt::format("left/{}", rank); }

std::string lostRank(int rank) { return fmt::format("rank {}", rank); }

std::string describeSilence(std::chrono::nanoseconds silence) {
  return fmt::format("has not answered for {}; it is stopped or its machine "
                     "hangs",
                     describeDuration(silence));
}

void Backoff::sleep(const WaitBudget &budget) {
  std::this_thread::sleep_until(
      std::min(budget.nextLook(), Clock::now() + next));
  next = std::min<std::chrono::microseconds>(2 * next,
                                             std::chrono::milliseconds(20));
}

} // namespace weft::runtime
