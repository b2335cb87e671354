//===- WorkerPool.cpp - Threads that sessions share -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/WorkerPool.h"

#include <fmt/format.h>

#include <system_error>

namespace weft::runtime {

//===----------------------------------------------------------------------===//
// Worker
//===----------------------------------------------------------------------===//

void Worker::post(Work work) {
  // One that is abandoned may not have been scheduled since.
  while (hasWork.load())
    std::this_thread::yield();
  next = std::move(work);
  hasWork.store(true);
  posted.notifyAll();
}

void Worker::end(std::unique_ptr<Worker> worker) {
  worker->post({.isLast = true});
  worker->thread.join();
}

void Worker::abandon(Worker *worker, Work last) {
  worker->thread.detach();
  // The thread may end before `post` does: both hold the worker.
  const std::shared_ptr<Worker> held(worker);
  worker->self = held;
  last.isLast = true;
  worker->post(std::move(last));
}

void Worker::loop() {
  SpinPolicy spin;
  bool isLast = false;
  while (!isLast) {
    waitUntil(posted, spin, noTimeout, [&] { return hasWork.load(); });
    // Before the work begins: when it tells that it is done, more may come.
    const Work work = std::move(next);
    hasWork.store(false);
    isLast = work.isLast;
    spin = work.spin;
    if (work.run)
      work.run(work.owner.get(), work.index);
  }
  // It cannot hold itself until it is destroyed.
  const std::shared_ptr<Worker> held = std::move(self);
}

//===----------------------------------------------------------------------===//
// WorkerPool
//===----------------------------------------------------------------------===//

WorkerPool &WorkerPool::ofProcess() {
  // Never destroyed: threads wait in it. No lock: one that is held while the
  // process forks is held in the child for ever.
  static std::atomic<WorkerPool *> current{nullptr};
  WorkerPool *pool = current.load();
  while (!pool || pool->depth != forkDepth()) {
    auto *created = new WorkerPool;
    if (current.compare_exchange_strong(pool, created))
      return *created;
    delete created;
  }
  return *pool;
}

Status WorkerPool::borrow(size_t count, std::vector<Worker *> &workers) {
  const std::lock_guard lock(mutex);
  try {
    while (idle.size() < count) {
      auto worker = std::make_unique<Worker>();
      // In front: it is new to all.
      idle.insert(idle.begin(), worker.get());
      worker.release();
      ++alive;
    }
  } catch (const std::system_error &error) {
    return resourceExhausted(
        fmt::format("cannot start {} threads: {}", count, error.what()));
  }
  const auto first = idle.end() - static_cast<ptrdiff_t>(count);
  workers.insert(workers.end(), first, idle.end());
  idle.erase(first, idle.end());
  return {};
}

void WorkerPool::giveBack(std::vector<Worker *> &workers) {
  const std::lock_guard lock(mutex);
  idle.insert(idle.end(), workers.begin(), workers.end());
  workers.clear();
}

void WorkerPool::abandon(Worker *worker, Worker::Work last) {
  const std::lock_guard lock(mutex);
  Worker::abandon(worker, std::move(last));
  --alive;
}

void WorkerPool::join(size_t demand) {
  const std::lock_guard lock(mutex);
  wanted += demand;
}

void WorkerPool::leave(size_t demand) {
  std::vector<Worker *> surplus;
  {
    const std::lock_guard lock(mutex);
    wanted -= demand;
    for (; alive > wanted && !idle.empty(); --alive) {
      surplus.push_back(idle.front());
      idle.erase(idle.begin());
    }
  }
  for (Worker *worker : surplus)
    Worker::end(std::unique_ptr<Worker>(worker));
}

} // namespace weft::runtime
