//===- ForkDepth.cpp - Whether the process has been forked ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForkDepth.h"

#include <atomic>
#include <pthread.h>

namespace weft::runtime {

uint32_t forkDepth() {
  static std::atomic<uint32_t> depth{0};
  [[maybe_unused]] static const int registered = pthread_atfork(
      nullptr, nullptr, [] { depth.fetch_add(1, std::memory_order_relaxed); });
  return depth.load(std::memory_order_relaxed);
}

} // namespace weft::runtime
