//===- DeviceMemory.cpp - Memory of the devices and pinned memory ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceMemory.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace weft::emulator {

static constexpr size_t page = 4096;
static constexpr std::byte redZone{0xfb};
/// NaN as a float of any size, and -1.
static constexpr int firstContents = 0xff;
/// Of large allocations only this much is filled: the rest costs nothing
/// until it is touched, and is zero.
static constexpr size_t filledBytes = size_t(256) << 20;

void *DeviceMemory::allocate(int device, size_t bytes, bool writable) {
  // A page in front, and the rest of the last page and one more behind.
  size_t mapped = page + (bytes + page - 1) / page * page + page;
  void *mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    return nullptr;
  auto *base = static_cast<std::byte *>(mapping), *begin = base + page;
  std::fill(base, begin, redZone);
  std::fill(begin + bytes, base + mapped, redZone);
  std::memset(begin, firstContents, std::min(bytes, filledBytes));
  Allocation allocation;
  allocation.device = device;
  allocation.begin = reinterpret_cast<uint64_t>(begin);
  allocation.bytes = bytes;
  allocation.writable = writable;
  allocation.mapping = base;
  allocation.mappedBytes = mapped;
  std::lock_guard lock(mutex);
  allocations[allocation.begin] = allocation;
  views.clear();
  return begin;
}

/// The bytes of the red zones that are no longer what they were.
static std::string damageOf(const Allocation &allocation) {
  const std::byte *begin = reinterpret_cast<std::byte *>(allocation.begin),
                  *end = begin + allocation.bytes,
                  *last = allocation.mapping + allocation.mappedBytes;
  auto isOther = [](std::byte value) { return value != redZone; };
  std::string size = std::to_string(allocation.bytes);
  if (auto at = std::find_if(end, last, isOther); at != last)
    return "byte " + std::to_string(at - begin) + " of an allocation of " +
           size + " bytes was written to";
  if (std::find_if(allocation.mapping, const_cast<std::byte *>(begin),
                   isOther) != begin)
    return "bytes before an allocation of " + size + " bytes were written to";
  return {};
}

bool DeviceMemory::free(void *pointer, bool isHost, std::string &damage) {
  std::lock_guard lock(mutex);
  auto found = allocations.find(reinterpret_cast<uint64_t>(pointer));
  if (found == allocations.end() || found->second.isHost() != isHost)
    return false;
  damage = damageOf(found->second);
  munmap(found->second.mapping, found->second.mappedBytes);
  allocations.erase(found);
  views.clear();
  return true;
}

std::optional<Allocation> DeviceMemory::find(const void *pointer) const {
  std::lock_guard lock(mutex);
  auto address = reinterpret_cast<uint64_t>(pointer);
  auto above = allocations.upper_bound(address);
  if (above == allocations.begin())
    return std::nullopt;
  const Allocation &below = std::prev(above)->second;
  if (!below.contains(address, 0))
    return std::nullopt;
  return below;
}

size_t DeviceMemory::usedBytes(int device) const {
  std::lock_guard lock(mutex);
  size_t sum = 0;
  for (const auto &[begin, allocation] : allocations)
    sum += allocation.device == device ? allocation.bytes : 0;
  return sum;
}

std::shared_ptr<const AddressSpace> DeviceMemory::view(int device) const {
  std::lock_guard lock(mutex);
  std::shared_ptr<const AddressSpace> &view = views[device];
  if (!view) {
    std::vector<Range> ranges;
    for (const auto &[begin, allocation] : allocations) {
      if (!allocation.isHost() && allocation.device != device)
        continue;
      Range range;
      range.begin = begin;
      range.end = begin + allocation.bytes;
      range.storage = reinterpret_cast<std::byte *>(begin);
      range.writable = allocation.writable;
      ranges.push_back(range);
    }
    view = std::make_shared<const AddressSpace>(std::move(ranges));
  }
  return view;
}

} // namespace weft::emulator
