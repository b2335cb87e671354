//===- AddressSpace.h - The memory that kernels may touch -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses of the device need not be those of the host: what the device sees
// at `begin` lies in `storage`.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_ADDRESSSPACE_H
#define WEFT_EMULATOR_PTX_ADDRESSSPACE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::emulator {

struct Range {
  uint64_t begin = 0, end = 0;
  std::byte *storage = nullptr;
  bool writable = true;

  bool contains(uint64_t address, uint64_t bytes) const {
    return address >= begin && address <= end && bytes <= end - address;
  }
  std::byte *at(uint64_t address) const { return storage + (address - begin); }
};

class AddressSpace {
public:
  AddressSpace() = default;
  /// Ranges that do not overlap, in any order.
  explicit AddressSpace(std::vector<Range> ranges);

  /// The range with these bytes, or null.
  const Range *find(uint64_t address, uint64_t bytes) const;
  /// "12 bytes behind the end of 1024 bytes at 0x...", for messages.
  std::string describe(uint64_t address) const;

private:
  std::vector<Range> ranges;
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_ADDRESSSPACE_H
