//===- SharedNode.cpp - Ranks that share the cores of a node --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/SharedNode.h"

#include <algorithm>
#include <limits>

using namespace weft;
using namespace weft::cost;

static bool isCpu(const Cluster &cluster) {
  return cluster.device.generation == Generation::Cpu;
}

/// Everything takes `times` as long.
static void slowDown(Device &device, double times) {
  for (double &rate : device.flopsPerSecond)
    rate /= times;
  CoreRates &core = device.core;
  for (double *rate :
       {&device.memoryBytesPerSecond, &device.hostBytesPerSecond,
        &core.cachedBytesPerSecond, &core.gemmBytesPerSecond,
        &core.gemmCachedBytesPerSecond, &core.attentionFlopsPerSecond,
        &core.attentionGradFlopsPerSecond, &core.elementFlopsPerSecond})
    *rate /= times;
  for (double &seconds : core.functionSeconds)
    seconds *= times;
  device.launchSeconds *= times;
}

Cluster cost::shareNode(Cluster cluster, int64_t ranks) {
  if (!isCpu(cluster))
    return cluster;
  Device &device = cluster.device;
  const auto devices = static_cast<double>(cluster.node.devices);
  const double inNode = cluster.network
                            ? std::min(static_cast<double>(ranks), devices)
                            : static_cast<double>(ranks);
  cluster.node.coresOfRank = static_cast<double>(device.units) *
                             std::max(1.0, devices / std::max(inNode, 1.0));
  if (cluster.node.memoryBytesPerSecond > 0) {
    const double share = cluster.node.memoryBytesPerSecond /
                         std::min(std::max(inNode, 1.0), devices);
    device.memoryBytesPerSecond = std::min(device.memoryBytesPerSecond, share);
  }
  const double times = inNode / devices;
  if (times <= 1)
    return cluster;
  slowDown(device, times);
  NodeLink &link = cluster.node.link;
  link.bytesPerSecond /= times;
  link.cachedBytesPerSecond /= times;
  link.latencySeconds *= times;
  // The memory of the node is the same.
  device.memoryBytes /= times;
  cluster.node.devices = ranks;
  return cluster;
}

int64_t cost::mostRanks(const Cluster &cluster) {
  return isCpu(cluster) && !cluster.network
             ? std::numeric_limits<int64_t>::max()
             : cluster.devices();
}
