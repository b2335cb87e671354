//===- Arena.h - The memory of a rank ---------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One allocation a rank, made before the first step: zero, page aligned, in
// huge pages where the system gives them. Pages are mapped to memory when
// a thread first touches them.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_EXECUTOR_ARENA_H
#define WEFT_RUNTIME_SRC_EXECUTOR_ARENA_H

#include "weft/runtime/Status.h"

#include <cstddef>
#include <cstdint>

namespace weft::runtime {

class Arena {
public:
  Arena() = default;
  Arena(Arena &&other) noexcept;
  Arena &operator=(Arena &&other) noexcept;
  ~Arena();

  static Result<Arena> allocate(uint64_t bytes);

  std::byte *data() const { return begin; }
  uint64_t size() const { return bytes; }

private:
  std::byte *begin = nullptr;
  uint64_t bytes = 0;
};

/// Bytes of memory this machine has; 0 when it does not say.
uint64_t physicalMemory();

/// Of it, what this process has; 0 when the system does not say.
uint64_t residentMemory();

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_ARENA_H
