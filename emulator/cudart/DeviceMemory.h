//===- DeviceMemory.h - Memory of the devices and pinned memory -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory of the host between two red zones, which are looked at when it is
// freed. It starts with NaNs: what a program does not write it notices.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_CUDART_DEVICEMEMORY_H
#define WEFT_EMULATOR_CUDART_DEVICEMEMORY_H

#include "ptx/AddressSpace.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace weft::emulator {

struct Allocation {
  /// Of memory of the host that devices see: -1.
  int device = 0;
  uint64_t begin = 0;
  size_t bytes = 0;
  bool writable = true;
  /// What was mapped, red zones included.
  std::byte *mapping = nullptr;
  size_t mappedBytes = 0;

  bool isHost() const { return device < 0; }
  bool contains(uint64_t address, size_t count) const {
    return address >= begin && address - begin <= bytes &&
           count <= bytes - (address - begin);
  }
};

class DeviceMemory {
public:
  /// Null when there is no room.
  void *allocate(int device, size_t bytes, bool writable = true);
  /// False if nothing begins at `pointer`. `damage` says which red zone was
  /// written to, if one was.
  bool free(void *pointer, bool isHost, std::string &damage);
  /// The allocation with this address.
  std::optional<Allocation> find(const void *pointer) const;
  size_t usedBytes(int device) const;
  /// What kernels on `device` may touch now.
  std::shared_ptr<const AddressSpace> view(int device) const;

private:
  mutable std::mutex mutex;
  std::map<uint64_t, Allocation> allocations;
  mutable std::map<int, std::shared_ptr<const AddressSpace>> views;
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_CUDART_DEVICEMEMORY_H
