//===- CollectiveTime.cpp - Time of collectives, by algorithm -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/CollectiveTime.h"

#include "NcclConstants.h"

#include "weft/Cost/MemoryCost.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace weft;
using namespace weft::cost;

namespace {

/// Bytes a second, of a call's group.
struct Rates {
  /// Of a device's links in a node.
  double node = std::numeric_limits<double>::infinity();
  /// Of all NICs of a node that its ranks in the group use.
  double network = std::numeric_limits<double>::infinity();

  double ring() const { return std::min(node, network); }
};

class NcclModel {
public:
  NcclModel(const Cluster &cluster, const CollectiveCall &call,
            const Calibration &calibration, std::optional<Algorithm> only);

  CollectiveTime fastest();

private:
  void ring();
  void tree();
  void pat();
  void inSwitch();
  void pairwise();
  void consider(double seconds, Algorithm algorithm, Protocol protocol);

  /// A call without its hops and its bytes.
  double base(double ncclBase) const {
    return calibration.callSeconds + ncclBase;
  }
  /// The bytes of a call, and those that fill the pipelines.
  double filled() const {
    return call.bytes *
           (1 + calibration.fillBytes / (call.bytes + calibration.fillBytes));
  }
  double nodeHop(const nccl::ByProtocol &nvlink, const nccl::ByProtocol &pcie,
                 size_t protocol) const {
    const double seconds = link.latencySeconds > 0
                               ? link.latencySeconds
                               : (isNvlink ? nvlink : pcie)[protocol];
    return seconds * calibration.nodeHopFactor;
  }
  /// No row tells how long LL takes from node to node: as NCCL says.
  double networkHop(const nccl::ByProtocol &hop, size_t protocol) const {
    return hop[protocol] * (protocol == 0 ? 1 : calibration.networkHopFactor);
  }
  double lowLatencyBound() const;

  const Cluster &cluster;
  const NodeLink &link;
  const CollectiveCall &call;
  const Placement &group;
  const Calibration &calibration;
  std::optional<Algorithm> only;
  const bool isNvlink;
  const double ranks, ranksPerNode, nodes;
  Rates rates;
  CollectiveTime best;
};

} // namespace

static bool isNvlinkKind(LinkKind kind) {
  return kind == LinkKind::NVLink || kind == LinkKind::NVSwitch;
}

static Rates ratesOf(const Cluster &cluster, const CollectiveCall &call,
                     const Calibration &calibration) {
  const NodeLink &link = cluster.node.link;
  Rates rates;
  if (call.group.ranksPerNode > 1 && link.kind == LinkKind::None)
    rates.node = cluster.device.hostBytesPerSecond * call.share.node *
                 calibration.hostRate;
  else if (call.group.ranksPerNode > 1)
    rates.node = link.bytesPerSecond * call.share.node *
                 (isNvlinkKind(link.kind) ? calibration.nvlinkRate
                                          : calibration.pcieRate);
  // The NICs of a node serve all its devices alike, the other groups as well.
  if (!call.group.isInNode() && cluster.network)
    rates.network = cluster.network->nicBytesPerSecond * call.share.network *
                    static_cast<double>(cluster.network->nicsPerNode *
                                        call.group.ranksPerNode) /
                    static_cast<double>(cluster.node.devices) *
                    calibration.networkRate;
  return rates;
}

NcclModel::NcclModel(const Cluster &cluster, const CollectiveCall &call,
                     const Calibration &calibration,
                     std::optional<Algorithm> only)
    : cluster(cluster), link(cluster.node.link), call(call), group(call.group),
      calibration(calibration), only(only), isNvlink(isNvlinkKind(link.kind)),
      ranks(static_cast<double>(group.ranks)),
      ranksPerNode(static_cast<double>(group.ranksPerNode)),
      nodes(static_cast<double>(group.nodes)),
      rates(ratesOf(cluster, call, calibration)) {
  best.seconds = std::numeric_limits<double>::infinity();
}

void NcclModel::consider(double seconds, Algorithm algorithm,
                         Protocol protocol) {
  if (seconds < best.seconds && (!only || *only == algorithm))
    best = {seconds, algorithm, protocol};
}

static Protocol protocolAt(size_t i) {
  return static_cast<Protocol>(i + static_cast<size_t>(Protocol::LL));
}
static constexpr size_t lowLatency = 0, lowLatency128 = 1, simple = 2;

double NcclModel::lowLatencyBound() const {
  const auto &bounds = cluster.device.generation == Generation::Ampere
                           ? nccl::lowLatencyAmpere
                           : nccl::lowLatencyHopper;
  return bounds[group.nodes == 1  ? 0
                : group.nodes < 4 ? 1
                                  : 2] *
         of(calibration.lowLatencyRate, cluster.device);
}

void NcclModel::ring() {
  const bool isAllReduce = call.kind == CollectiveKind::AllReduce;
  const double rounds = isAllReduce ? 2 : 1;
  const double networkSteps = group.isInNode() ? 0 : rounds * (nodes - 1);
  const double nodeSteps = rounds * (ranks - 1) - networkSteps;
  for (size_t i = 0; i < 3; ++i) {
    if (i == lowLatency128 && !isNvlink)
      continue;
    double rate =
        rates.ring() * nccl::ringRate[i] / group.neighbourOversubscription;
    if (i == lowLatency)
      rate = std::min(rate, lowLatencyBound());
    const double hops =
        nodeSteps * nodeHop(nccl::nvlinkRingHop, nccl::pcieRingHop, i) +
        networkSteps * networkHop(nccl::networkRingHop, i);
    const double bytes = i == simple ? filled() : call.bytes;
    consider(base(nccl::ringBase[i]) + hops +
                 bytes * busFactor(call.kind, group.ranks) / rate,
             Algorithm::Ring, protocolAt(i));
  }
}

void NcclModel::tree() {
  for (size_t i = 0; i < 3; ++i) {
    if (i == lowLatency128 && !isNvlink)
      continue;
    double rate = nccl::treeRate[i];
    if (i == lowLatency128 && !group.isInNode())
      rate = nccl::treeRateOfManyNodes;
    rate *= rates.ring() / group.neighbourOversubscription;
    if (i == lowLatency)
      rate = std::min(rate, lowLatencyBound());
    const double hops =
        2 * ((ranksPerNode - 1) *
                 nodeHop(nccl::nvlinkTreeHop, nccl::pcieTreeHop, i) +
             std::log2(nodes) * networkHop(nccl::networkTreeHop, i));
    const double bytes = i == simple ? filled() : call.bytes;
    consider(base(nccl::treeBase[i]) + hops + 2 * bytes / rate, Algorithm::Tree,
             protocolAt(i));
  }
}

void NcclModel::pat() {
  const double rate =
      rates.network * nccl::patRate / group.neighbourOversubscription;
  consider(base(nccl::patBase) +
               std::log2(nodes) * nccl::patHop * calibration.networkHopFactor +
               filled() * busFactor(call.kind, group.ranks) / rate,
           Algorithm::Pat, Protocol::Simple);
}

void NcclModel::inSwitch() {
  const double switchRate = link.bytesPerSecond * call.share.node *
                            of(calibration.inSwitchRate, cluster.device);
  const double hop = nccl::switchHop * calibration.nodeHopFactor;
  const double networkRate = rates.network / group.neighbourOversubscription;
  if (group.isInNode())
    return consider(base(nccl::switchBase) + hop + filled() / switchRate,
                    Algorithm::InSwitch, Protocol::Simple);
  // The trees send what they reduce up and the result down.
  consider(base(nccl::switchBase) + hop +
               2 * std::log2(nodes) * nccl::switchTreeHop *
                   calibration.networkHopFactor +
               filled() / std::min(switchRate,
                                   networkRate * nccl::treeRate[simple] / 2),
           Algorithm::InSwitchTree, Protocol::Simple);
  if (cluster.network->inNetworkReduction)
    consider(base(nccl::switchBase) + hop +
                 nccl::switchNetworkHop * calibration.networkHopFactor +
                 filled() / std::min(switchRate, networkRate),
             Algorithm::InNetwork, Protocol::Simple);
}

void NcclModel::pairwise() {
  const double peers = ranks - 1, far = ranks - ranksPerNode;
  // With several rails, what is for another rail first goes to the device that
  // has a NIC on it.
  const bool hasRails = cluster.network && cluster.network->rails > 1;
  const double passedOn =
      hasRails ? far * (ranksPerNode - 1) / ranksPerNode : 0;
  const double linkShare = calibration.pairwiseRate;
  double seconds = 0;
  if (ranksPerNode > 1)
    seconds = (ranksPerNode - 1 + passedOn) / ranks * call.bytes /
              (link.bytesPerSecond * call.share.node * linkShare);
  if (!group.isInNode())
    seconds = std::max(seconds, far / ranks * call.bytes *
                                    group.pairOversubscription *
                                    calibration.networkRate /
                                    (rates.network / ranksPerNode * linkShare));
  const double rounds = std::ceil(peers / nccl::peersAtOnce);
  const double hop =
      group.isInNode() ? nodeHop(nccl::nvlinkRingHop, nccl::pcieRingHop, simple)
                       : nccl::networkRingHop[simple];
  consider(base(nccl::ringBase[simple]) + rounds * hop +
               seconds * filled() / std::max(1.0, call.bytes),
           Algorithm::Pairwise, Protocol::Simple);
}

CollectiveTime NcclModel::fastest() {
  switch (call.kind) {
  case CollectiveKind::AllReduce:
    tree();
    if (link.inSwitchReduction && ranksPerNode > 1)
      inSwitch();
    ring();
    break;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    ring();
    if (ranksPerNode == 1)
      pat();
    break;
  case CollectiveKind::AllToAll:
    pairwise();
    break;
  case CollectiveKind::Permute:
  case CollectiveKind::Exchange:
    consider(
        calibration.callSeconds +
            sendSeconds(cluster,
                        call.bytes / (group.isInNode() ? call.share.node
                                                       : call.share.network),
                        group.level, calibration),
        Algorithm::Direct, Protocol::Simple);
    break;
  }
  return best;
}

static Algorithm sharedMemoryAlgorithm(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllToAll:
    return Algorithm::Pairwise;
  case CollectiveKind::Permute:
  case CollectiveKind::Exchange:
    return Algorithm::Direct;
  default:
    return Algorithm::Ring;
  }
}

/// Of the bytes of a call, what a thread moves: its own shard as well.
static double sharedMemoryFactor(const CollectiveCall &call) {
  return call.kind == CollectiveKind::AllReduce
             ? busFactor(call.kind, call.group.ranks)
             : 1;
}

static double sharedMemoryRate(const NodeLink &link, double bytes) {
  return bytes <= link.cacheBytes ? link.cachedBytesPerSecond
                                  : link.bytesPerSecond;
}

/// Threads that share memory: each waits for the others at every hop.
static CollectiveTime sharedMemoryTime(const NodeLink &link,
                                       const CollectiveCall &call) {
  const double seconds =
      static_cast<double>(call.group.ranks) * link.latencySeconds +
      call.bytes * sharedMemoryFactor(call) /
          (call.share.node * sharedMemoryRate(link, call.bytes));
  return {seconds, sharedMemoryAlgorithm(call.kind), Protocol::None};
}

double cost::busFactor(CollectiveKind kind, int64_t ranks) {
  const double n = static_cast<double>(ranks);
  switch (kind) {
  case CollectiveKind::AllReduce:
    return 2 * (n - 1) / n;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return (n - 1) / n;
  case CollectiveKind::Permute:
  case CollectiveKind::Exchange:
    break;
  }
  return 1;
}

CollectiveTime cost::collectiveTime(const Cluster &cluster,
                                    const CollectiveCall &call,
                                    const Calibration &calibration,
                                    std::optional<Algorithm> only) {
  if (call.group.ranks <= 1 || call.bytes <= 0)
    return {};
  if (cluster.node.link.kind == LinkKind::SharedMemory && call.group.isInNode())
    return sharedMemoryTime(cluster.node.link, call);
  return NcclModel(cluster, call, calibration, only).fastest();
}

double cost::sendSeconds(const Cluster &cluster, double bytes, size_t level,
                         const Calibration &calibration) {
  const NodeLink &link = cluster.node.link;
  if (level == 0 && link.kind == LinkKind::SharedMemory)
    return link.latencySeconds + bytes / sharedMemoryRate(link, bytes);
  if (link.kind == LinkKind::None && (level == 0 || !cluster.network))
    return hostCopySeconds(cluster.device, bytes, calibration);
  if (level == 0 || !cluster.network) {
    const auto &hop =
        isNvlinkKind(link.kind) ? nccl::nvlinkRingHop : nccl::pcieRingHop;
    const double latency =
        link.latencySeconds > 0 ? link.latencySeconds : hop[simple];
    return latency * calibration.nodeHopFactor +
           bytes / (link.bytesPerSecond * calibration.pairRate);
  }
  const double rate = cluster.network->nicBytesPerSecond *
                      static_cast<double>(cluster.network->nicsPerNode) /
                      static_cast<double>(cluster.node.devices);
  return nccl::networkRingHop[simple] +
         bytes / (rate * calibration.networkRate);
}

std::string_view cost::nameOf(Algorithm algorithm) {
  static constexpr std::string_view names[] = {
      "-",          "ring",     "tree",  "pat", "in-switch", "in-switch tree",
      "in-network", "pairwise", "direct"};
  return names[static_cast<size_t>(algorithm)];
}

std::string_view cost::nameOf(Protocol protocol) {
  static constexpr std::string_view names[] = {"-", "LL", "LL128", "Simple"};
  return names[static_cast<size_t>(protocol)];
}
