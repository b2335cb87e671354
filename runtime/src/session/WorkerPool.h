//===- WorkerPool.h - Threads that sessions share ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ranks of a session are threads only while it runs. Sessions that run one
// after the other, as the shapes of a jitted function do, borrow the same ones:
//
//   std::vector<Worker *> workers;
//   WEFT_RETURN_IF_ERROR(WorkerPool::ofProcess().borrow(ranks, workers));
//   workers[r]->post({core, work, r, spin});
//   ... // until `work` has told that it is done
//   WorkerPool::ofProcess().giveBack(workers);
//
// A forked child has none of the threads of its parent: its pool is empty, and
// what it borrows is started anew.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_SESSION_WORKERPOOL_H
#define WEFT_RUNTIME_SRC_SESSION_WORKERPOOL_H

#include "comm/EventCount.h"
#include "comm/ForkDepth.h"
#include "weft/runtime/Status.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace weft::runtime {

/// A thread that waits for work.
class Worker {
public:
  /// `run(owner, index)`, if it is not null.
  struct Work {
    std::shared_ptr<void> owner;
    void (*run)(void *owner, size_t index) = nullptr;
    size_t index = 0;
    /// How it waits for what comes next.
    SpinPolicy spin;
    /// Whether the thread ends with it.
    bool isLast = false;
  };

  /// Throws std::system_error as std::thread does.
  Worker() : thread([this] { loop(); }) {}
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  /// Waits until the thread has begun what was posted before.
  void post(Work work);
  /// Ends an idle thread.
  static void end(std::unique_ptr<Worker> worker);
  /// Ends the thread with `last`, when it comes back from its work, if ever.
  static void abandon(Worker *worker, Work last);

private:
  void loop();

  Work next;
  std::atomic<bool> hasWork{false};
  /// Of one that is abandoned, whose thread is the last to hold it.
  std::shared_ptr<Worker> self;
  EventCount posted;
  std::thread thread;
};

class WorkerPool {
public:
  static WorkerPool &ofProcess();

  /// Appends `count` idle threads; allocates only where some are missing.
  Status borrow(size_t count, std::vector<Worker *> &workers);
  void giveBack(std::vector<Worker *> &workers);
  /// Instead of giving back one that is stuck: see `Worker::abandon`.
  void abandon(Worker *worker, Worker::Work last);

  /// How many threads a session wants at once. When it leaves, those that no
  /// other session wants end.
  void join(size_t demand);
  void leave(size_t demand);

private:
  WorkerPool() = default;

  /// Of the process that its threads are of.
  const uint32_t depth = forkDepth();
  std::mutex mutex;
  /// The threads of who ran last come last.
  std::vector<Worker *> idle;
  size_t alive = 0;
  size_t wanted = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_SESSION_WORKERPOOL_H
