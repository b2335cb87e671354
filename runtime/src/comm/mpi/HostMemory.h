//===- HostMemory.h - Memory that processes of a host share -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_MPI_HOSTMEMORY_H
#define WEFT_RUNTIME_COMM_MPI_HOSTMEMORY_H

#include "weft/runtime/Bootstrap.h"

#include <chrono>
#include <cstddef>
#include <memory>

namespace weft::runtime {

class HostMemory {
public:
  /// All processes of the job call it alike; `bytes` are the same in those of
  /// one host. Null in all processes of a host where one of them cannot have
  /// the memory, and where there is one process or nothing to share.
  static Result<std::unique_ptr<HostMemory>>
  share(Bootstrap &bootstrap, size_t bytes, std::chrono::nanoseconds timeout);
  ~HostMemory();
  HostMemory(const HostMemory &) = delete;
  HostMemory &operator=(const HostMemory &) = delete;

  /// Zeros at first.
  std::byte *memory() const { return address; }

  /// For tests of what is done without it; all processes have the same.
  static inline bool isUsed = true;

private:
  HostMemory(std::byte *address, size_t bytes)
      : address(address), bytes(bytes) {}

  std::byte *const address;
  const size_t bytes;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_MPI_HOSTMEMORY_H
