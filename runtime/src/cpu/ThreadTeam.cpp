//===- ThreadTeam.cpp - The threads that a rank computes with ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/ThreadTeam.h"

#include "comm/ForkDepth.h"

#include <system_error>

namespace weft::runtime {

/// The number of the next task when there is none.
static constexpr uint64_t noTask = 0xffffffff;

static uint64_t nextJob(uint64_t ticket, uint64_t task) {
  return (((ticket >> 32) + 1) << 32) | task;
}

ThreadTeam::ThreadTeam(int threads, SpinPolicy spin)
    : ticket(noTask), spin(spin) {
  start(threads);
}

void ThreadTeam::start(int threads) {
  depth = forkDepth();
  try {
    for (int thread = 1; thread < threads; ++thread)
      helpers.emplace_back([this, thread] { loop(thread); });
  } catch (...) {
    stopping.store(true);
    posted.notifyAll();
    for (std::thread &helper : helpers)
      helper.join();
    throw;
  }
}

/// Leaves the threads of the parent process to it; their objects must not be
/// destroyed.
static void leave(std::vector<std::thread> &threads) {
  (void)new std::vector<std::thread>(std::move(threads));
  threads.clear();
}

ThreadTeam::~ThreadTeam() {
  if (depth != forkDepth())
    leave(helpers);
  stopping.store(true);
  posted.notifyAll();
  for (std::thread &helper : helpers)
    helper.join();
}

/// Whoever cannot be started is not missed: the caller takes all tasks.
void ThreadTeam::restartAfterFork() {
  const int threads = size();
  leave(helpers);
  try {
    start(threads);
  } catch (const std::system_error &) {
    helpers.clear();
  }
}

void ThreadTeam::share(int64_t newTasks, const void *newWork, Call newCall) {
  if (depth != forkDepth())
    restartAfterFork();
  // Closed while the job is written: who read half of it cannot take a task.
  ticket.store(nextJob(ticket.load(), noTask));
  tasks.store(newTasks);
  work.store(newWork);
  call.store(newCall);
  finished.store(0);
  ticket.store(nextJob(ticket.load(), 0));
  posted.notifyAll();
  takeTasks(0);
  waitUntil(done, spin, noTimeout, [&] { return finished.load() == newTasks; });
}

uint64_t ThreadTeam::takeTasks(int thread) {
  uint64_t current = ticket.load();
  while (true) {
    const int64_t all = tasks.load();
    const void *currentWork = work.load();
    const Call currentCall = call.load();
    const auto task = static_cast<int64_t>(current & noTask);
    if (task >= all)
      return current;
    if (!ticket.compare_exchange_weak(current, current + 1))
      continue;
    currentCall(currentWork, task, thread);
    if (finished.fetch_add(1) + 1 == all)
      done.notifyAll();
    current = ticket.load();
  }
}

void ThreadTeam::loop(int thread) {
  uint64_t seen = ticket.load();
  while (true) {
    seen = takeTasks(thread);
    waitUntil(posted, spin, noTimeout,
              [&] { return ticket.load() != seen || stopping.load(); });
    if (stopping.load())
      return;
  }
}

} // namespace weft::runtime
