//===- CostModel.h - What a program costs on a cluster ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cluster and the calibration behind one interface. Seconds everywhere; those
// of kernels with what the cluster's software makes of them.
//
//   CostModel cost(*loadCluster("dgx-h100").cluster);
//   cost.gemm({4096, 4096, 4096});
//   cost.collective({CollectiveKind::AllReduce, 1 << 30, cost.place({{8,
//   1}})});
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_COSTMODEL_H
#define WEFT_COST_COSTMODEL_H

#include "weft/Cost/AttentionCost.h"
#include "weft/Cost/CollectiveCost.h"
#include "weft/Cost/CollectiveTime.h"
#include "weft/Cost/ElementCost.h"
#include "weft/Cost/GemmCost.h"
#include "weft/Cost/MemoryCost.h"
#include "weft/Cost/SharedNode.h"

namespace weft::cost {

class CostModel {
public:
  explicit CostModel(Cluster cluster, Calibration calibration = {});

  const Cluster &cluster() const { return machine; }
  /// As each of so many ranks has it that compute at once (SharedNode.h).
  CostModel ofRanks(int64_t ranks) const {
    return CostModel(shareNode(machine, ranks), calibration);
  }

  double gemm(const Gemm &gemm) const;
  double attention(const Attention &attention) const;
  double memoryKernel(const MemoryTraffic &traffic) const;
  /// Of a kernel that moves and computes.
  double kernel(const MemoryTraffic &traffic, const ElementWork &work) const;
  /// What another flop of a large product takes, and another byte that a large
  /// kernel reads or writes.
  double secondsPerFlop(Precision precision) const;
  double secondsPerByte() const;
  double launch() const { return machine.device.launchSeconds; }
  /// What is left of the seconds of a kernel behind others of its call: a GPU
  /// launches all of them as one graph, a CPU's rank calls each.
  double behindOthers(double seconds) const;
  double hostCopy(double bytes) const;
  /// `level` as in Placement.
  double send(double bytes, size_t level) const;

  Placement place(std::vector<GroupDimension> group) const;
  CollectiveTime collective(const CollectiveCall &call) const;
  /// The lines that times of calls between two devices lie on, by the block
  /// that holds both: of the node, and of each level of the network.
  CollectiveCost links() const;
  Contention contention(const CollectiveCall &call, const CollectiveTime &time,
                        double memoryBytesPerSecond) const;
  /// Whether computing beside a collective saves time. Where it does not, the
  /// collective is best done at once by the one who needs it.
  bool hides(const CollectiveCall &call) const;

  /// Memory of a device that a plan can have.
  double usableBytes() const;

private:
  Cluster machine;
  Calibration calibration;
};

} // namespace weft::cost

#endif // WEFT_COST_COSTMODEL_H
