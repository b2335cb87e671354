//===- ClusterReport.cpp - What a cluster is and how fast -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ClusterReport.h"

#include "weft/Cost/Bytes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

using namespace weft::cost;

namespace weft::tools {

static constexpr CollectiveKind usualKinds[] = {
    CollectiveKind::AllReduce, CollectiveKind::AllGather,
    CollectiveKind::ReduceScatter, CollectiveKind::AllToAll};
static constexpr double usualBytes[] = {1 << 10, 1 << 15, 1 << 20, 1 << 25,
                                        1 << 30};
static constexpr Gemm usualGemms[] = {
    {512, 512, 512},     {1024, 1024, 1024},  {2048, 2048, 2048},
    {4096, 4096, 4096},  {8192, 8192, 8192},  {2048, 12288, 12288},
    {2048, 12288, 1536}, {2048, 1536, 12288},
};

GemmRow price(const CostModel &model, const Gemm &gemm) {
  const double seconds = model.gemm(gemm);
  const double peak =
      peakFlopsPerSecond(model.cluster().device, gemm.precision);
  return {gemm, seconds, gemm.flops() / seconds / peak};
}

CollectiveRow price(const CostModel &model, const CollectiveCall &call) {
  const CollectiveTime time = model.collective(call);
  const double bus =
      time.seconds > 0
          ? call.bytes * busFactor(call.kind, call.group.ranks) / time.seconds
          : 0;
  return {call, time, bus};
}

ClusterReport usualReport(const CostModel &model) {
  const Cluster &cluster = model.cluster();
  ClusterReport report{cluster, model.usableBytes(), {}, {}, true};
  std::vector<int64_t> sizes = {8, 64, 1024};
  // All devices of a smaller cluster.
  if (cluster.devices() < sizes.front())
    sizes = {cluster.devices()};
  for (CollectiveKind kind : usualKinds)
    for (int64_t ranks : sizes)
      for (double bytes : usualBytes)
        if (ranks > 1 && ranks <= cluster.devices())
          report.collectives.push_back(
              price(model, {kind, bytes, model.place({{ranks, 1}})}));
  const bool hasBf16 = cluster.device.peak(Precision::BF16) > 0;
  for (Gemm gemm : usualGemms) {
    gemm.precision = hasBf16 ? Precision::BF16 : Precision::F32;
    report.gemms.push_back(price(model, gemm));
  }
  return report;
}

/// `3.35 TB/s`.
static std::string printRate(double bytesPerSecond) {
  if (bytesPerSecond >= 1e12)
    return fmt::format("{:.3g} TB/s", bytesPerSecond / 1e12);
  return bytesPerSecond >= 1e9
             ? fmt::format("{:.3g} GB/s", bytesPerSecond / 1e9)
             : fmt::format("{:.3g} MB/s", bytesPerSecond / 1e6);
}

/// `716 Tflop/s`.
static std::string printFlops(double flopsPerSecond) {
  return flopsPerSecond >= 1e12
             ? fmt::format("{:.4g} Tflop/s", flopsPerSecond / 1e12)
             : fmt::format("{:.4g} Gflop/s", flopsPerSecond / 1e9);
}

static std::string counted(int64_t count, const char *what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

static std::string describe(const ClusterReport &report) {
  const Cluster &cluster = report.cluster;
  const Device &device = cluster.device;
  const NodeLink &link = cluster.node.link;
  std::string text = fmt::format("{}: {} of {}\n\n", cluster.name,
                                 counted(cluster.nodes(), "node"),
                                 counted(cluster.node.devices, "device"));
  text += fmt::format("device    {}, {}\n", device.kind,
                      counted(device.units, "unit"));
  std::string peaks;
  for (size_t i = 0; i < precisionCount; ++i)
    if (device.flopsPerSecond[i] > 0)
      peaks += fmt::format("{}{} {}", peaks.empty() ? "" : ", ",
                           nameOf(static_cast<Precision>(i)),
                           printFlops(device.flopsPerSecond[i]));
  text += "peak      " + peaks + "\n";
  text += fmt::format("memory    {} at {}, {} of it for plans\n",
                      printBytes(device.memoryBytes),
                      printRate(device.memoryBytesPerSecond),
                      printBytes(report.usableBytes));
  text += fmt::format("host      launches in {}, copies at {}\n",
                      printSeconds(device.launchSeconds),
                      printRate(device.hostBytesPerSecond));
  if (link.kind != LinkKind::None)
    text += fmt::format("link      {}, {} per device{}\n", nameOf(link.kind),
                        printRate(link.bytesPerSecond),
                        link.inSwitchReduction ? ", the switch reduces" : "");
  if (cluster.network) {
    const Network &network = *cluster.network;
    text += fmt::format("network   {} per node at {}, {}{}\n",
                        counted(network.nicsPerNode, "NIC"),
                        printRate(network.nicBytesPerSecond),
                        counted(network.rails, "rail"),
                        network.inNetworkReduction ? ", switches reduce" : "");
    for (const NetworkLevel &level : network.levels)
      text +=
          fmt::format("          {}: {}, oversubscription {:.3g}\n", level.name,
                      counted(level.nodes, "node"), level.oversubscription);
  }
  std::string order;
  for (const std::string &axis : cluster.axisOrder)
    order += " " + axis;
  if (!order.empty())
    text += "axes     " + order + ", from the nearest devices\n";
  const SoftwareProfile &software = cluster.software;
  text += fmt::format("software  {}: kernels take {:.3g}x", software.name,
                      software.computeFactor);
  if (software.attentionFactor != 1)
    text += fmt::format(", those of attention {:.3g}x that",
                        software.attentionFactor);
  if (software.issueSeconds > 0)
    text += fmt::format(", the host issues a matmul each {}",
                        printSeconds(software.issueSeconds));
  if (software.trafficFactor != 1)
    text += fmt::format(", memory-bound ones move {:.3g}x the bytes",
                        software.trafficFactor);
  if (software.attention)
    text += fmt::format(", attention is {}", nameOf(*software.attention));
  if (!software.blockingAxes.empty())
    text += fmt::format(", waits for communication along {}",
                        fmt::join(software.blockingAxes, ", "));
  text += "\n\n";
  return text;
}

std::string printText(const ClusterReport &report) {
  std::string text = report.describes ? describe(report) : "";
  if (!report.collectives.empty())
    text += fmt::format(
        "{:<15} {:>6} {:>6} {:>9} {:>10}  {:<14} {:<8} {:>10}\n", "collective",
        "ranks", "nodes", "bytes", "time", "algorithm", "protocol", "busbw");
  for (const CollectiveRow &row : report.collectives)
    text += fmt::format(
        "{:<15} {:>6} {:>6} {:>9} {:>10}  {:<14} {:<8} {:>10}\n",
        nameOf(row.call.kind), row.call.group.ranks, row.call.group.nodes,
        printBytes(row.call.bytes), printSeconds(row.time.seconds),
        nameOf(row.time.algorithm), nameOf(row.time.protocol),
        printRate(row.busBytesPerSecond));
  if (!report.collectives.empty() && !report.gemms.empty())
    text += "\n";
  if (!report.gemms.empty())
    text += fmt::format("{:<22} {:<6} {:>10} {:>15} {:>8}\n", "gemm", "dtype",
                        "time", "rate", "of peak");
  for (const GemmRow &row : report.gemms)
    text += fmt::format(
        "{:<22} {:<6} {:>10} {:>15} {:>6.1f} %\n",
        fmt::format("{}x{}x{}", row.gemm.m, row.gemm.n, row.gemm.k),
        nameOf(row.gemm.precision), printSeconds(row.seconds),
        printFlops(row.gemm.flops() / row.seconds), 100 * row.share);
  return text;
}

using nlohmann::ordered_json;

static ordered_json describeJson(const ClusterReport &report) {
  const Cluster &cluster = report.cluster;
  const Device &device = cluster.device;
  ordered_json peaks = ordered_json::object();
  for (size_t i = 0; i < precisionCount; ++i)
    if (device.flopsPerSecond[i] > 0)
      peaks[std::string(nameOf(static_cast<Precision>(i)))] =
          device.flopsPerSecond[i];
  ordered_json json = {
      {"name", cluster.name},
      {"nodes", cluster.nodes()},
      {"devices", cluster.devices()},
      {"device",
       {{"kind", device.kind},
        {"generation", nameOf(device.generation)},
        {"units", device.units},
        {"flops_per_second", peaks},
        {"memory_bytes", device.memoryBytes},
        {"usable_bytes", report.usableBytes},
        {"memory_bytes_per_second", device.memoryBytesPerSecond},
        {"launch_seconds", device.launchSeconds},
        {"host_bytes_per_second", device.hostBytesPerSecond}}},
      {"node",
       {{"devices", cluster.node.devices},
        {"link", nameOf(cluster.node.link.kind)},
        {"bytes_per_second", cluster.node.link.bytesPerSecond},
        {"in_switch_reduction", cluster.node.link.inSwitchReduction}}},
  };
  if (cluster.network) {
    const Network &network = *cluster.network;
    ordered_json levels = ordered_json::array();
    for (const NetworkLevel &level : network.levels)
      levels.push_back({{"name", level.name},
                        {"nodes", level.nodes},
                        {"oversubscription", level.oversubscription}});
    json["network"] = {{"nics_per_node", network.nicsPerNode},
                       {"nic_bytes_per_second", network.nicBytesPerSecond},
                       {"rails", network.rails},
                       {"in_network_reduction", network.inNetworkReduction},
                       {"levels", levels}};
  }
  json["axis_order"] = cluster.axisOrder;
  json["software"] = {{"name", cluster.software.name},
                      {"compute_factor", cluster.software.computeFactor},
                      {"attention_factor", cluster.software.attentionFactor},
                      {"issue_seconds", cluster.software.issueSeconds},
                      {"traffic_factor", cluster.software.trafficFactor},
                      {"blocking_axes", cluster.software.blockingAxes}};
  if (cluster.software.attention)
    json["software"]["attention"] = nameOf(*cluster.software.attention);
  return json;
}

std::string printJson(const ClusterReport &report) {
  ordered_json json =
      report.describes ? describeJson(report) : ordered_json::object();
  json["collectives"] = ordered_json::array();
  for (const CollectiveRow &row : report.collectives)
    json["collectives"].push_back(
        {{"collective", nameOf(row.call.kind)},
         {"ranks", row.call.group.ranks},
         {"nodes", row.call.group.nodes},
         {"bytes", row.call.bytes},
         {"seconds", row.time.seconds},
         {"algorithm", nameOf(row.time.algorithm)},
         {"protocol", nameOf(row.time.protocol)},
         {"bus_bytes_per_second", row.busBytesPerSecond}});
  json["gemms"] = ordered_json::array();
  for (const GemmRow &row : report.gemms)
    json["gemms"].push_back(
        {{"m", row.gemm.m},
         {"n", row.gemm.n},
         {"k", row.gemm.k},
         {"dtype", nameOf(row.gemm.precision)},
         {"seconds", row.seconds},
         {"flops_per_second", row.gemm.flops() / row.seconds},
         {"share_of_peak", row.share}});
  // A name that is no UTF-8 is that of a file.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

} // namespace weft::tools
