//===- SharedNode.h - Ranks that share the cores of a node ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks on a CPU are threads. As many as there are cores have one each, but
// one memory; more of them take turns, and whatever they do takes longer.
//
// Example: a node of 2 cores of 40 GB/s each, 60 GB/s together. Two ranks have
// 30 GB/s each and all of a core, four ranks 15 GB/s and half of a core. Of one
// rank the other core is to spare: collectives run beside it there
// (CollectiveTime.h, contention).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_SHAREDNODE_H
#define WEFT_COST_SHAREDNODE_H

#include "weft/Cost/Cluster.h"

namespace weft::cost {

/// The cluster as each of `ranks` ranks has it that all compute at once. On
/// GPUs, which ranks do not share, the same.
Cluster shareNode(Cluster cluster, int64_t ranks);

/// How many ranks may run: devices, but on a CPU without a network any number.
int64_t mostRanks(const Cluster &cluster);

} // namespace weft::cost

#endif // WEFT_COST_SHAREDNODE_H
