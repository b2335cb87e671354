//===- CostModel.cpp - What a program costs on a cluster ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/CostModel.h"

#include <utility>

using namespace weft;
using namespace weft::cost;

CostModel::CostModel(Cluster cluster, Calibration calibration)
    : machine(std::move(cluster)), calibration(calibration) {}

double CostModel::gemm(const Gemm &gemm) const {
  return machine.software.computeFactor *
         gemmSeconds(machine.device, gemm, calibration);
}

double CostModel::attention(const Attention &attention) const {
  return machine.software.computeFactor *
         attentionSeconds(machine.device, attention,
                          defaultAttentionKernel(machine.device), calibration);
}

double CostModel::memoryKernel(const MemoryTraffic &traffic) const {
  return machine.software.computeFactor *
         memoryKernelSeconds(machine.device, traffic, calibration);
}

double CostModel::hostCopy(double bytes) const {
  return hostCopySeconds(machine.device, bytes, calibration);
}

double CostModel::send(double bytes, size_t level) const {
  return sendSeconds(machine, bytes, level, calibration);
}

Placement CostModel::place(std::vector<GroupDimension> group) const {
  return placeGroup(machine, std::move(group));
}

CollectiveTime CostModel::collective(const CollectiveCall &call) const {
  return collectiveTime(machine, call, calibration);
}

Contention CostModel::contention(const CollectiveCall &call,
                                 const CollectiveTime &time,
                                 double memoryBytesPerSecond) const {
  return cost::contention(machine, call, time, memoryBytesPerSecond,
                          calibration);
}

double CostModel::usableBytes() const {
  return machine.device.memoryBytes - machine.reserves.bytes();
}
