//===- WorkerPoolTest.cpp - Threads that sessions share ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/WorkerPool.h"

#include <gmock/gmock.h>

namespace weft::runtime {
namespace {

void countOne(void *count, size_t) {
  static_cast<std::atomic<int> *>(count)->fetch_add(1);
}

/// It may come back from its work at any time, also while it is abandoned: then
/// it ends before the call that abandons it. Nothing but a sanitizer sees that
/// the call uses it no more.
TEST(WorkerPool, AbandonedWorkerThatEndsAtOnce) {
  constexpr int workers = 200;
  const auto ended = std::make_shared<std::atomic<int>>(0);
  WorkerPool &pool = WorkerPool::ofProcess();
  for (int i = 0; i < workers; ++i) {
    pool.join(1);
    std::vector<Worker *> borrowed;
    ASSERT_TRUE(pool.borrow(1, borrowed).ok());
    pool.abandon(borrowed[0], {.owner = ended, .run = countOne, .spin = {}});
    pool.leave(1);
  }
  while (ended->load() != workers)
    std::this_thread::yield();
}

} // namespace
} // namespace weft::runtime
