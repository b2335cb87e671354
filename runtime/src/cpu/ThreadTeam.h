//===- ThreadTeam.h - The threads that a rank computes with -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank's thread and its helpers share the tasks of one step of a program:
//
//   team.run(tiles, [&](int64_t tile, int thread) { ... });
//
// Tasks are taken one after the other by whoever is free, and the caller is one
// of the takers: a helper that the system does not schedule delays nobody. What
// a task computes must not depend on who computes it, nor when.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CPU_THREADTEAM_H
#define WEFT_RUNTIME_SRC_CPU_THREADTEAM_H

#include "comm/EventCount.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace weft::runtime {

class ThreadTeam {
public:
  /// `threads` with the caller's; throws std::system_error as std::thread does.
  explicit ThreadTeam(int threads, SpinPolicy spin = {});
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &operator=(const ThreadTeam &) = delete;

  int size() const { return static_cast<int>(helpers.size()) + 1; }

  /// Calls `work(task, thread)` for the tasks 0 to `tasks` - 1, and returns
  /// when all are done. `thread` is below `size()`; no two calls run at once
  /// with the same one. Allocates nothing. One run at a time.
  template <typename Work> void run(int64_t tasks, const Work &work) {
    if (helpers.empty() || tasks < 2) {
      for (int64_t task = 0; task < tasks; ++task)
        work(task, 0);
      return;
    }
    share(tasks, &work, [](const void *context, int64_t task, int thread) {
      (*static_cast<const Work *>(context))(task, thread);
    });
  }

private:
  using Call = void (*)(const void *work, int64_t task, int thread);

  void start(int threads);
  void restartAfterFork();
  void share(int64_t tasks, const void *work, Call call);
  /// Takes tasks until none is left; returns the ticket that said so.
  uint64_t takeTasks(int thread);
  void loop(int thread);

  /// Number of the job in the upper half, of the next task in the lower one. A
  /// task is taken by raising it, which fails if the job is another by now.
  std::atomic<uint64_t> ticket;
  std::atomic<int64_t> tasks{0};
  std::atomic<const void *> work{nullptr};
  std::atomic<Call> call{nullptr};
  std::atomic<int64_t> finished{0};
  std::atomic<bool> stopping{false};

  const SpinPolicy spin;
  EventCount posted;
  EventCount done;
  std::vector<std::thread> helpers;
  /// Of the process that the helpers are of.
  uint32_t depth;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CPU_THREADTEAM_H
