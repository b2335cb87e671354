//===- Stopwatch.h - How long a scope takes ---------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_EXECUTOR_STOPWATCH_H
#define WEFT_RUNTIME_SRC_EXECUTOR_STOPWATCH_H

#include <chrono>

namespace weft::runtime {

/// Sets `elapsed` when the scope ends.
class Stopwatch {
public:
  explicit Stopwatch(std::chrono::nanoseconds &elapsed)
      : elapsed(elapsed), begin(std::chrono::steady_clock::now()) {}
  ~Stopwatch() { elapsed = std::chrono::steady_clock::now() - begin; }
  Stopwatch(const Stopwatch &) = delete;
  Stopwatch &operator=(const Stopwatch &) = delete;

private:
  std::chrono::nanoseconds &elapsed;
  const std::chrono::steady_clock::time_point begin;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_STOPWATCH_H
