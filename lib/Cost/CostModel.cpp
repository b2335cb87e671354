//===- CostModel.cpp - What a program costs on a cluster ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/CostModel.h"

#include <algorithm>
#include <cmath>
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
  return machine.software.computeFactor * machine.software.attentionFactor *
         attentionSeconds(machine.device, attention,
                          machine.software.attention.value_or(
                              defaultAttentionKernel(machine.device)),
                          calibration);
}

/// What the software moves where the plan moves so much.
static MemoryTraffic onSoftware(const SoftwareProfile &software,
                                const MemoryTraffic &traffic) {
  return {traffic.readBytes * software.trafficFactor,
          traffic.writtenBytes * software.trafficFactor};
}

double CostModel::memoryKernel(const MemoryTraffic &traffic) const {
  return machine.software.computeFactor *
         memoryKernelSeconds(machine.device,
                             onSoftware(machine.software, traffic),
                             calibration);
}

double CostModel::kernel(const MemoryTraffic &traffic,
                         const ElementWork &work) const {
  const double moving = memorySeconds(
      machine.device, onSoftware(machine.software, traffic), calibration);
  const double computing = elementSeconds(machine.device, work, calibration);
  // A core hides one behind the other in part, a GPU with many threads all.
  const double seconds = machine.device.generation == Generation::Cpu
                             ? std::hypot(moving, computing)
                             : std::max(moving, computing);
  return machine.software.computeFactor * (launch() + seconds);
}

double CostModel::behindOthers(double seconds) const {
  return machine.device.generation == Generation::Cpu
             ? seconds
             : std::max(0.0,
                        seconds - machine.software.computeFactor * launch());
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

bool CostModel::hides(const CollectiveCall &call) const {
  // Less is within the error of the model.
  constexpr double leastShare = 0.05;
  const CollectiveTime time = collective(call);
  return time.seconds <= 0 ||
         hiddenShare(contention(call, time, 0)) >= leastShare;
}

double CostModel::usableBytes() const {
  return machine.device.memoryBytes - machine.reserves.bytes();
}

double CostModel::secondsPerFlop(Precision precision) const {
  return machine.software.computeFactor /
         (peakFlopsPerSecond(machine.device, precision) *
          of(calibration.gemmRate, machine.device));
}

double CostModel::secondsPerByte() const {
  constexpr double large = 1 << 30;
  return machine.software.computeFactor *
         memorySeconds(machine.device, {large / 2, large / 2}, calibration) /
         large;
}

/// Of two devices that are `stride` apart. Half of what two gather is sent.
static Link linkOfPair(const CostModel &model, int64_t stride) {
  constexpr double small = 2, large = 1 << 28;
  auto seconds = [&](double bytes) {
    return model
        .collective(
            {CollectiveKind::AllGather, bytes, model.place({{2, stride}})})
        .seconds;
  };
  return {seconds(small), (seconds(2 * large) - seconds(large)) / (large / 2)};
}

CollectiveCost CostModel::links() const {
  std::vector<LinkLevel> levels;
  int64_t inner = 1;
  auto add = [&](int64_t devices) {
    if (devices > inner)
      levels.push_back({devices, linkOfPair(*this, inner)});
    inner = std::max(inner, devices);
  };
  add(machine.node.devices);
  if (machine.network)
    for (const NetworkLevel &level : machine.network->levels)
      add(level.nodes * machine.node.devices);
  // More devices than one are beside each other in a node.
  if (levels.empty())
    levels.push_back({2, linkOfPair(*this, 1)});
  return CollectiveCost(std::move(levels));
}
