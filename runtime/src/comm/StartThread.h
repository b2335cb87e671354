//===- StartThread.h - Threads that may not start ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without memory for its stack, or above the limit of processes, a thread does
// not start; std::thread throws then.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_COMM_STARTTHREAD_H
#define WEFT_RUNTIME_SRC_COMM_STARTTHREAD_H

#include "weft/runtime/Status.h"

#include <fmt/format.h>

#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace weft::runtime {

/// "cannot start the thread <what>: Resource temporarily unavailable".
template <typename Function>
Status startThread(std::thread &thread, std::string_view what,
                   Function &&function) {
  try {
    thread = std::thread(std::forward<Function>(function));
  } catch (const std::system_error &error) {
    return resourceExhausted(
        fmt::format("cannot start the thread {}: {}", what, error.what()));
  }
  return {};
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_COMM_STARTTHREAD_H
