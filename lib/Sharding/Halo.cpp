//===- Halo.cpp - Windows over a split dimension --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/Halo.h"

#include <algorithm>

using namespace weft::sharding;

/// A map lists the elements of a halo: with more, the dimension is gathered.
static constexpr int64_t maxHalo = 64;

static int64_t floorDiv(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

static int64_t ceilDiv(int64_t a, int64_t b) { return -floorDiv(-a, b); }

bool HaloExchange::moves() const { return map.from != map.to; }

bool HaloExchange::reachesOver(int64_t members) const {
  return first < 0 || first + distance * (members - 1) + length > size;
}

/// Appends a segment that has element `offset` + `distance` * member of each
/// member, where there is one.
static void addHaloElement(HaloExchange &exchange, int64_t offset,
                           int64_t members) {
  ElementMap &map = exchange.map;
  int64_t position = 0;
  for (int64_t segment : map.to)
    position += segment * members;
  map.to.push_back(1);
  const int64_t distance = exchange.distance;
  int64_t begin = offset < 0 ? ceilDiv(-offset, distance) : 0;
  int64_t end =
      std::min(members, floorDiv(exchange.size - 1 - offset, distance) + 1);
  if (begin < end)
    map.runs.push_back({offset + begin * distance, position + begin,
                        end - begin, end - begin > 1 ? distance : 1});
}

std::optional<HaloExchange> WindowedDim::exchange(int64_t members) const {
  if (size % members != 0 || count % members != 0 || size == 0 || count == 0)
    return std::nullopt;
  HaloExchange exchange;
  exchange.size = size;
  exchange.dilation = dilation;
  // Members have their elements at like places of their windows only if zeros
  // are put between them before.
  const int64_t own = count / members, apart = own * step;
  if (apart % dilation != 0) {
    exchange.interior = dilation - 1;
    exchange.size *= dilation;
    exchange.dilation = 1;
  }
  const int64_t covered = (own - 1) * step + extent;
  const int64_t spread = exchange.dilation;
  exchange.distance = apart / spread;
  exchange.first = ceilDiv(-low, spread);
  exchange.length = floorDiv(covered - low - 1, spread) - exchange.first + 1;
  if (exchange.length < 1)
    return std::nullopt;
  exchange.low = exchange.first * spread + low;
  exchange.high = covered - exchange.low - ((exchange.length - 1) * spread + 1);

  const int64_t first = exchange.first, end = first + exchange.length,
                distance = exchange.distance;
  const int64_t before =
                    std::max<int64_t>(std::min<int64_t>(end, 0) - first, 0),
                behind = std::max<int64_t>(end - std::max(distance, first), 0);
  if (before + behind > maxHalo)
    return std::nullopt;
  exchange.map.from = {exchange.size / members};
  for (int64_t i = 0; i < before; ++i)
    addHaloElement(exchange, first + i, members);
  exchange.map.to.push_back(distance);
  exchange.map.runs.push_back(
      {0, before * members, std::min(exchange.size, distance * members), 1});
  for (int64_t i = 0; i < behind; ++i)
    addHaloElement(exchange, end - behind + i, members);
  exchange.begin = std::clamp<int64_t>(first, 0, distance);
  return exchange;
}
