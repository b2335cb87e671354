//===- Arena.cpp - The memory of a rank -------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/Arena.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace weft::runtime {

Arena::Arena(Arena &&other) noexcept
    : begin(std::exchange(other.begin, nullptr)),
      bytes(std::exchange(other.bytes, 0)) {}

Arena &Arena::operator=(Arena &&other) noexcept {
  std::swap(begin, other.begin);
  std::swap(bytes, other.bytes);
  return *this;
}

Arena::~Arena() {
  if (begin)
    munmap(begin, bytes);
}

Result<Arena> Arena::allocate(uint64_t bytes) {
  Arena arena;
  if (bytes == 0)
    return arena;
  constexpr uint64_t hugePage = uint64_t(2) << 20;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return resourceExhausted(fmt::format("cannot allocate an arena of {} "
                                         "bytes: {}",
                                         bytes, std::strerror(errno)));
  if (bytes >= hugePage)
    madvise(memory, bytes, MADV_HUGEPAGE); // advice: refusal costs only speed
  arena.begin = static_cast<std::byte *>(memory);
  arena.bytes = bytes;
  return arena;
}

uint64_t physicalMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES), pageSize = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || pageSize <= 0)
    return 0;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(pageSize);
}

uint64_t residentMemory() {
  uint64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

} // namespace weft::runtime
