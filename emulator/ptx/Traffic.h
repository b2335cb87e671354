//===- Traffic.h - What warps move to and from memory -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Global memory moves in sectors of 32 bytes. An access of a warp moves each
// sector that some lane touches once; a good one uses all of their bytes, and
// moves many of them at a time.
//
// Example: 32 lanes that read 4 bytes each, 128 bytes apart, use 128 bytes of
// 32 sectors: one eighth. Side by side they use all of 4 sectors, and with 16
// bytes each all of 16.
//
// This is what a warp asks for. What caches keep between two accesses is not
// known here: `distinct` sectors are what the best cache would move.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_TRAFFIC_H
#define WEFT_EMULATOR_PTX_TRAFFIC_H

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace weft::emulator {

inline constexpr uint64_t sectorBytes = 32;

/// Reads, or writes.
struct Traffic {
  /// Of warps; the bytes that their lanes touch, where several lanes touch one
  /// byte once; and the sectors that these are in.
  uint64_t accesses = 0, bytes = 0, sectors = 0;
  /// Sectors of all accesses, each once.
  uint64_t distinct = 0;

  /// The part of what moves that is used, and the bytes of an access.
  double usedShare() const {
    return sectors ? double(bytes) / double(sectors * sectorBytes) : 1;
  }
  double bytesPerAccess() const {
    return accesses ? double(bytes) / double(accesses) : 0;
  }
};

/// Of a launch.
struct LaunchTraffic {
  Traffic reads, writes;
};

/// "2 accesses, 128 bytes in 4 sectors (100 %), 4 of them distinct"
std::string describe(const Traffic &traffic);

/// Counts the accesses of the warps of one host thread.
class TrafficCounter {
public:
  /// A lane of the access that goes on.
  void touch(uint64_t address, uint32_t bytes, bool reads, bool writes) {
    lanes.push_back({address, address + bytes});
    isRead |= reads;
    isWrite |= writes;
  }
  /// Its last lane was the last of the warp.
  void endAccess() {
    if (!lanes.empty())
      count();
  }
  void addTo(TrafficCounter &all) const;
  LaunchTraffic total() const;

private:
  struct Piece {
    uint64_t begin, end;
  };
  struct Direction {
    Traffic traffic;
    /// One bit for each of 64 adjacent sectors.
    std::unordered_map<uint64_t, uint64_t> sectors;
    uint64_t distinct() const;
  };
  void count();
  void count(Direction &direction);

  std::vector<Piece> lanes;
  bool isRead = false, isWrite = false;
  Direction reads, writes;
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_TRAFFIC_H
