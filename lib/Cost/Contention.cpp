//===- Contention.cpp - Communication beside compute ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/CollectiveTime.h"

#include <algorithm>

using namespace weft;
using namespace weft::cost;

/// What is sent was read, and what arrives is written and read again.
static constexpr double passesOverMemory = 3;

/// Threads that compute and threads that communicate share the cores of a rank:
/// where there are fewer, all take longer.
static Contention onCores(const Cluster &cluster) {
  const double computing = static_cast<double>(cluster.device.units);
  const double threads = computing + cluster.device.collectiveCores;
  const double factor =
      std::max(1.0, threads / std::max(computing, cluster.node.coresOfRank));
  return {factor, factor};
}

Contention cost::contention(const Cluster &cluster, const CollectiveCall &call,
                            const CollectiveTime &time,
                            double memoryBytesPerSecond,
                            const Calibration &calibration) {
  if (time.seconds <= 0)
    return {};
  const Device &device = cluster.device;
  if (device.generation == Generation::Cpu)
    return onCores(cluster);
  const double units = static_cast<double>(device.units);
  const double taken = std::min(calibration.collectiveUnits, units / 2) / units;
  const double sent =
      call.bytes * busFactor(call.kind, call.group.ranks) / time.seconds;
  const double memory = (sent * passesOverMemory + memoryBytesPerSecond) /
                        (device.memoryBytesPerSecond * calibration.readRate);
  return {std::max(1 / (1 - taken), memory), std::max(1.0, memory)};
}

double cost::hiddenShare(const Contention &contention) {
  return std::max(0.0, 1 / contention.computeFactor +
                           1 / contention.communicationFactor - 1);
}
