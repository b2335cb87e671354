//===- NcclJob.h - Ranks of NCCL that are processes of a test ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_NCCL_NCCLJOB_H
#define WEFT_RUNTIME_TEST_NCCL_NCCLJOB_H

#include "HostDevice.h"
#include "PlanBuilder.h"
#include "cuda/nccl/NcclWorld.h"
#include "io/ScratchDirectory.h"
#include "launch/Processes.h"

#include <stdlib.h>

#include <functional>
#include <thread>

namespace weft::runtime {

/// A rank's world between attach and detach.
struct NcclRank {
  NcclWorld &world;
  Bootstrap &bootstrap;
  int rank;

  /// Runs an entry: enqueues, then waits for the device or a failure, as a rank
  /// of a session does.
  Status run(uint32_t entry, const std::function<Status()> &enqueue) {
    world.beginRun(rank, entry);
    Status status = enqueue();
    while (status.ok() && !isHostStreamIdle()) {
      status = world.status();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    world.endRun(rank);
    return status.ok() ? world.status() : status;
  }
};

struct NcclJob : ScratchDirectory {
  NcclJob() {
    options.watchdog.deadline = std::chrono::seconds(20);
    options.watchdog.setup = std::chrono::seconds(20);
    options.watchdog.reportFolder = directory.string();
  }

  /// A process of the rank: creates its world for the plan, attaches, does
  /// `use` and detaches. Its text is what `use` returns, or the failure.
  Process start(int rank, int world, const Plan &plan,
                const std::function<std::string(NcclRank &)> &use) {
    return Process([&]() -> std::string {
      ::setenv("RANK", std::to_string(rank).c_str(), 1);
      ::setenv("TMPDIR", directory.c_str(), 1);
      if (!fault.empty())
        ::setenv("WEFT_FAKE_NCCL_FAULT", fault.c_str(), 1);
      Launch launch;
      launch.rank = rank;
      launch.world = world;
      launch.launcher = "the test";
      launch.meeting = {"127.0.0.1", port, 1};
      auto bootstrap =
          Bootstrap::connect(launch, std::chrono::seconds(20), heartbeat);
      if (!bootstrap.ok())
        return bootstrap.status().toString();
      const Nccl nccl = fakeNccl();
      const Cudart cudart = hostDevice();
      auto created =
          NcclWorld::create(nccl, cudart, **bootstrap, plan, options);
      if (!created.ok())
        return created.status().toString();
      std::string text;
      // The thread of the rank is another one than that of the session.
      std::thread([&] {
        const auto arena = (*created)->allocateArena(cudart, 64);
        if (!arena.ok())
          return void(text = arena.status().toString());
        NcclRank context{**created, **bootstrap, rank};
        const Status status = (*created)->attach(rank, arena->get(), 64);
        text = status.ok() ? use(context) : status.toString();
        (*created)->detach(rank);
        if (!(*created)->status().ok() && text == "ok")
          text = (*created)->status().toString();
      }).join();
      return text;
    });
  }
  /// The same on all ranks; their texts.
  std::vector<std::string>
  startAll(int world, const Plan &plan,
           const std::function<std::string(NcclRank &)> &use) {
    std::vector<Process> processes;
    for (int r = 0; r < world; ++r)
      processes.push_back(start(r, world, plan, use));
    std::vector<std::string> texts;
    for (Process &process : processes)
      texts.push_back(process.finish());
    return texts;
  }

  NcclWorldOptions options;
  std::chrono::nanoseconds heartbeat = defaultHeartbeat;
  std::string fault;
  const uint16_t port = freePort();
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_NCCL_NCCLJOB_H
