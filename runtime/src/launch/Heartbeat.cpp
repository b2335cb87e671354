//===- Heartbeat.cpp - A thread that says that the rank lives -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launch/Heartbeat.h"

#include "comm/StartThread.h"

namespace weft::runtime {

Result<std::unique_ptr<Heartbeat>>
Heartbeat::start(Store &store, std::chrono::nanoseconds silence) {
  std::unique_ptr<Heartbeat> heartbeat(new Heartbeat(store, silence));
  // The process may be stopped before the thread comes to its first.
  store.sayAlive(silence);
  WEFT_RETURN_IF_ERROR(
      startThread(heartbeat->thread, "that says that this process lives",
                  [heartbeat = heartbeat.get()] { heartbeat->loop(); }));
  return heartbeat;
}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex);
    isStopping = true;
  }
  wake.notify_all();
  if (thread.joinable())
    thread.join();
}

void Heartbeat::loop() {
  std::unique_lock lock(mutex);
  while (!wake.wait_for(lock, silence / 4, [&] { return isStopping; })) {
    lock.unlock();
    store.sayAlive(silence);
    lock.lock();
  }
}

} // namespace weft::runtime
