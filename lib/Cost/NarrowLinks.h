//===- NarrowLinks.h - Levels of the network of a group ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How far up the network a placed group reaches, and how narrow its links are,
// for groups of strides and of listed devices.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_COST_NARROWLINKS_H
#define WEFT_LIB_COST_NARROWLINKS_H

#include "weft/Cost/Placement.h"

#include <algorithm>

namespace weft::cost {

/// Sets the level and the oversubscriptions of a placement whose ranks and
/// nodes are known. `ranksInBlock` has the ranks of the group in a block of so
/// many devices.
template <typename RanksInBlock>
void narrow(const Cluster &cluster, Placement &placement,
            RanksInBlock ranksInBlock) {
  if (placement.isInNode())
    return;
  double narrowing = 1;
  placement.level = 1;
  for (const NetworkLevel &level : cluster.network->levels) {
    const int64_t inBlock = ranksInBlock(level.nodes * cluster.node.devices);
    if (inBlock == placement.ranks)
      break;
    if (placement.level == cluster.network->levels.size())
      break;
    ++placement.level;
    narrowing *= level.oversubscription;
    // Of the nodes in a block one passes the ring on to the next block.
    const double nodesInBlock =
        std::max(1.0, static_cast<double>(inBlock) /
                          static_cast<double>(placement.ranksPerNode));
    const double leaving =
        1 - static_cast<double>(inBlock) / static_cast<double>(placement.ranks);
    placement.neighbourOversubscription =
        std::max(placement.neighbourOversubscription, narrowing / nodesInBlock);
    placement.pairOversubscription =
        std::max(placement.pairOversubscription, narrowing * leaving);
  }
}

} // namespace weft::cost

#endif // WEFT_LIB_COST_NARROWLINKS_H
