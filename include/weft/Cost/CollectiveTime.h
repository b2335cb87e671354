//===- CollectiveTime.h - Time of collectives, by algorithm -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective library picks, call by call, the algorithm and the protocol that
// it holds for the fastest; so does this model. On GPUs it is NCCL's own model
// of its algorithms (a latency by hops, and bytes over a bandwidth) with fitted
// constants; between ranks that are threads it is a ring.
//
// Example: an all-reduce of 1 GiB in a DGX H100 is one in-switch reduction
// (NVLS), 4.0 ms, a bus bandwidth of 470 GB/s as nccl-tests counts it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_COLLECTIVETIME_H
#define WEFT_COST_COLLECTIVETIME_H

#include "weft/Cost/Calibration.h"
#include "weft/Cost/CollectiveKind.h"
#include "weft/Cost/Placement.h"

namespace weft::cost {

enum class Algorithm : uint8_t {
  None,         // a group of one rank
  Ring,         // neighbours in a circle
  Tree,         // two binary trees of nodes, a chain in each
  Pat,          // binomial trees of nodes with one rank each
  InSwitch,     // reduction in NVSwitch (NVLS)
  InSwitchTree, // that in nodes, trees between them (NVLSTree)
  InNetwork,    // reduction in the switches of the network (SHARP)
  Pairwise,     // every rank with every other one
  Direct,       // one rank with one
};
enum class Protocol : uint8_t { None, LL, LL128, Simple };
std::string_view nameOf(Algorithm algorithm);
std::string_view nameOf(Protocol protocol);

/// What other collectives leave of the links in a node and between nodes.
struct LinkShare {
  double node = 1, network = 1;
};

struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::AllReduce;
  /// The larger of operand and result on one device, as nccl-tests' size.
  /// Of an exchange what a device sends, which depends on its map.
  double bytes = 0;
  Placement group;
  LinkShare share = {};
};

struct CollectiveTime {
  double seconds = 0;
  Algorithm algorithm = Algorithm::None;
  Protocol protocol = Protocol::None;
};

/// What a group sends over the bytes of a call: `busbw = algbw x factor`, 2
/// (n-1)/n for all-reduce, (n-1)/n for the others, 1 for a permutation.
double busFactor(CollectiveKind kind, int64_t ranks);

/// The fastest algorithm; `only` restricts the choice.
CollectiveTime collectiveTime(const Cluster &cluster,
                              const CollectiveCall &call,
                              const Calibration &calibration,
                              std::optional<Algorithm> only = std::nullopt);

/// One rank to another one: `level` as in Placement.
double sendSeconds(const Cluster &cluster, double bytes, size_t level,
                   const Calibration &calibration);

/// How much longer each of the two takes when a collective and a kernel run
/// side by side.
struct Contention {
  double computeFactor = 1, communicationFactor = 1;
};
/// `memoryBytesPerSecond` is the traffic of the kernel.
Contention contention(const Cluster &cluster, const CollectiveCall &call,
                      const CollectiveTime &time, double memoryBytesPerSecond,
                      const Calibration &calibration);
/// Of the time that the two run side by side, what is saved against one after
/// the other: 1 where each is as fast as alone, 0 where they take turns.
double hiddenShare(const Contention &contention);

} // namespace weft::cost

#endif // WEFT_COST_COLLECTIVETIME_H
