//===- Traffic.cpp - What warps move to and from memory -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Traffic.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace weft::emulator {

std::string describe(const Traffic &traffic) {
  return std::to_string(traffic.accesses) + " accesses, " +
         std::to_string(traffic.bytes) + " bytes in " +
         std::to_string(traffic.sectors) + " sectors (" +
         std::to_string(std::lround(100 * traffic.usedShare())) + " %), " +
         std::to_string(traffic.distinct) + " of them distinct";
}

uint64_t TrafficCounter::Direction::distinct() const {
  uint64_t count = 0;
  for (auto [place, bits] : sectors)
    count += std::popcount(bits);
  return count;
}

void TrafficCounter::count(Direction &direction) {
  Traffic &traffic = direction.traffic;
  ++traffic.accesses;
  // Lanes are in the order of their addresses. Bytes and sectors before these
  // are counted.
  uint64_t byte = 0, sector = 0;
  for (const Piece &lane : lanes) {
    traffic.bytes += lane.end - std::clamp(byte, lane.begin, lane.end);
    byte = std::max(byte, lane.end);
    uint64_t end = (lane.end - 1) / sectorBytes + 1;
    for (sector = std::max(sector, lane.begin / sectorBytes); sector < end;
         ++sector) {
      ++traffic.sectors;
      direction.sectors[sector / 64] |= uint64_t(1) << sector % 64;
    }
  }
}

void TrafficCounter::count() {
  std::sort(lanes.begin(), lanes.end(),
            [](const Piece &a, const Piece &b) { return a.begin < b.begin; });
  if (isRead)
    count(reads);
  if (isWrite)
    count(writes);
  lanes.clear();
  isRead = isWrite = false;
}

void TrafficCounter::addTo(TrafficCounter &all) const {
  auto add = [](const Direction &from, Direction &to) {
    to.traffic.accesses += from.traffic.accesses;
    to.traffic.bytes += from.traffic.bytes;
    to.traffic.sectors += from.traffic.sectors;
    for (auto [place, bits] : from.sectors)
      to.sectors[place] |= bits;
  };
  add(reads, all.reads);
  add(writes, all.writes);
}

LaunchTraffic TrafficCounter::total() const {
  LaunchTraffic launch{reads.traffic, writes.traffic};
  launch.reads.distinct = reads.distinct();
  launch.writes.distinct = writes.distinct();
  return launch;
}

} // namespace weft::emulator
