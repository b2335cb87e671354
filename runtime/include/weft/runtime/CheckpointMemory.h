//===- CheckpointMemory.h - Memory of a checkpoint --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step waits while states are copied to the memory from which they are
// written: it is not filled with zeros before.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_CHECKPOINTMEMORY_H
#define WEFT_RUNTIME_CHECKPOINTMEMORY_H

#include <cstddef>
#include <new>
#include <vector>

namespace weft::runtime {

template <typename T> struct UnfilledAllocator {
  using value_type = T;

  UnfilledAllocator() = default;
  template <typename U> UnfilledAllocator(const UnfilledAllocator<U> &) {}

  T *allocate(size_t count) {
    return static_cast<T *>(::operator new(count * sizeof(T)));
  }
  void deallocate(T *memory, size_t) { ::operator delete(memory); }
  /// Leaves what is there.
  template <typename U> void construct(U *place) { ::new (place) U; }

  friend bool operator==(UnfilledAllocator, UnfilledAllocator) { return true; }
};

/// Grows without a value.
using CheckpointMemory = std::vector<std::byte, UnfilledAllocator<std::byte>>;

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CHECKPOINTMEMORY_H
