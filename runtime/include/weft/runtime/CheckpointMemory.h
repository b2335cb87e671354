//===- CheckpointMemory.h - Memory of a checkpoint --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step waits while states are copied to the memory from which they are
// written: it is not filled with zeros before, and asked for in huge pages, of
// which the first write to each takes time.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_CHECKPOINTMEMORY_H
#define WEFT_RUNTIME_CHECKPOINTMEMORY_H

#include <cstddef>
#include <new>
#include <sys/mman.h>
#include <vector>

namespace weft::runtime {

template <typename T> struct UnfilledAllocator {
  using value_type = T;

  UnfilledAllocator() = default;
  template <typename U> UnfilledAllocator(const UnfilledAllocator<U> &) {}

  static constexpr size_t hugePage = size_t(2) << 20;
  static std::align_val_t alignmentOf(size_t bytes) {
    return std::align_val_t(bytes < hugePage ? alignof(T) : hugePage);
  }

  T *allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    void *const memory = ::operator new(bytes, alignmentOf(bytes));
    if (bytes >= hugePage)
      (void)::madvise(memory, bytes, MADV_HUGEPAGE); // refused, it is slower
    return static_cast<T *>(memory);
  }
  void deallocate(T *memory, size_t count) {
    ::operator delete(memory, alignmentOf(count * sizeof(T)));
  }
  /// Leaves what is there.
  template <typename U> void construct(U *place) { ::new (place) U; }

  friend bool operator==(UnfilledAllocator, UnfilledAllocator) { return true; }
};

/// Grows without a value.
using CheckpointMemory = std::vector<std::byte, UnfilledAllocator<std::byte>>;

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CHECKPOINTMEMORY_H
