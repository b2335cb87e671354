//===- Heartbeat.h - A thread that says that the rank lives -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank that computes for long and one that is stopped look alike to whoever
// waits for them. A thread tells them apart: it runs while the process does.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_LAUNCH_HEARTBEAT_H
#define WEFT_RUNTIME_SRC_LAUNCH_HEARTBEAT_H

#include "launch/Store.h"

#include <condition_variable>
#include <thread>

namespace weft::runtime {

class Heartbeat {
public:
  /// Says so to the store, which outlives it, four times in `silence`.
  static Result<std::unique_ptr<Heartbeat>>
  start(Store &store, std::chrono::nanoseconds silence);
  ~Heartbeat();

private:
  Heartbeat(Store &store, std::chrono::nanoseconds silence)
      : store(store), silence(silence) {}
  void loop();

  Store &store;
  const std::chrono::nanoseconds silence;
  std::mutex mutex;
  std::condition_variable wake;
  bool isStopping = false;
  std::thread thread;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_LAUNCH_HEARTBEAT_H
