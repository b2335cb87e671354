//===- Warp.h - The state of 32 threads -------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_WARP_H
#define WEFT_EMULATOR_PTX_WARP_H

#include "AddressSpace.h"
#include "Error.h"
#include "Program.h"
#include "Types.h"

namespace weft::emulator {

class Block;

enum class Access : uint8_t { Read, Write, Atomic };

class Warp {
public:
  Warp(Block &block, uint32_t index);

  template <typename T> T *lanes(uint32_t place) {
    return reinterpret_cast<T *>(file + place);
  }
  Mask &predicate(uint32_t place) {
    return *reinterpret_cast<Mask *>(file + place);
  }

  /// Where `bytes` bytes at `address` lie for a lane. Throws when the lane may
  /// not touch them.
  std::byte *access(const Op &op, uint32_t lane, Space space, uint64_t address,
                    uint32_t bytes, Access kind) {
    if (space == Space::Global && !isChecked &&
        recent.contains(address, bytes) && (address & (bytes - 1)) == 0 &&
        (recent.writable || kind == Access::Read))
      return recent.at(address);
    return resolve(op, lane, space, address, bytes, kind);
  }
  /// The generic address of an address in `space`, and the other way round.
  uint64_t toGeneric(Space space, uint64_t address, uint32_t lane) const;
  uint64_t fromGeneric(Space space, uint64_t address, uint32_t lane) const;
  bool isInSpace(Space space, uint64_t address, uint32_t lane) const;

  [[noreturn]] void fault(const Op &op, uint32_t lane, FaultKind kind,
                          const std::string &what) const;
  uint32_t thread(uint32_t lane) const { return index * warpSize + lane; }

  Block &block;
  uint32_t index;
  std::byte *file = nullptr;
  /// Where each lane is.
  std::array<uint32_t, warpSize> position{};
  /// Lanes that have not exited, that wait for lanes of the warp, and that
  /// wait at a barrier of the block.
  Mask live = 0, inWarpSync = 0, atBarrier = 0;
  /// Counts what orders the lanes of the warp: for the race detector.
  uint32_t syncs = 0;

private:
  std::byte *resolve(const Op &op, uint32_t lane, Space space, uint64_t address,
                     uint32_t bytes, Access kind);
  std::byte *resolveGlobal(const Op &op, uint32_t lane, uint64_t address,
                           uint32_t bytes, Access kind);

  Range recent;
  bool isChecked;
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_WARP_H
