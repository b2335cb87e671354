//===- Rows.cpp - Measured rows and what the model says of them -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include "Csv.h"

#include "weft/Cost/AttentionCost.h"
#include "weft/Cost/ClusterFile.h"
#include "weft/Cost/CollectiveTime.h"
#include "weft/Cost/GemmCost.h"
#include "weft/Cost/MemoryCost.h"

#include <algorithm>
#include <cstdlib>

using namespace weft;
using namespace weft::cost;

static Cluster clusterOf(const std::string &name) {
  return *parseCluster(*findShippedCluster(name), name).cluster;
}

static bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// The middle of "769-798", and a number as it is.
static double number(const std::string &text) {
  const size_t dash = text.find('-');
  const double first = std::atof(text.c_str());
  return dash == std::string::npos
             ? first
             : (first + std::atof(text.c_str() + dash + 1)) / 2;
}

/// Which shipped cluster has the device that a row names; "" for none.
static std::string clusterNameOf(const std::string &device) {
  if (contains(device, "GB200") || contains(device, "GH200") ||
      contains(device, "B300") || contains(device, "MI300"))
    return "";
  if (contains(device, "A100"))
    return contains(device, "PCIe") ? "a100-pcie" : "a100-sxm";
  if (contains(device, "H100"))
    return "h100-sxm";
  if (contains(device, "H200"))
    return "h200-sxm";
  return contains(device, "B200") ? "b200-sxm" : "";
}

static void readGemms(const std::string &folder, std::vector<Row> &rows) {
  for (CsvRow &row : readCsv(folder + "/calib_gemm.csv")) {
    const std::string name = clusterNameOf(row["gpu"]);
    // Rates on zeros are those of a device that its power does not limit, and
    // hand-written kernels are not what the library has.
    if (name.empty() || row["m"].empty() || row["n"].empty() ||
        contains(row["library_note"], "zeros") ||
        contains(row["library_note"], "hand-written"))
      continue;
    const Device device = clusterOf(name).device;
    Gemm gemm{std::atol(row["m"].c_str()), std::atol(row["n"].c_str()),
              std::atol(row["k"].c_str())};
    gemm.precision = row["dtype"] == "fp8" ? Precision::F8 : Precision::BF16;
    const std::string source = row["source"];
    const std::string set = contains(source, "png")        ? "A100 plot"
                            : contains(source, "fast.cu")  ? "H100 fast.cu"
                            : contains(source, "cookbook") ? "A100 cookbook"
                            : contains(source, "project")  ? "H200 project"
                            : row["dtype"] == "fp8"        ? "MAMF fp8"
                                                           : "MAMF bf16";
    // The fastest of a search: large products, which it tried, are no faster.
    const bool isSearch = contains(set, "MAMF");
    rows.push_back(
        {"gemm", set,
         row["gpu"] + " " + row["m"] + "x" + row["n"] + "x" + row["k"] + " " +
             row["dtype"],
         gemm.flops() / (number(row["tflops"]) * 1e12),
         gemm.flops() / peakFlopsPerSecond(device, gemm.precision),
         [device, gemm, isSearch](const Calibration &calibration) {
           const double seconds = gemmSeconds(device, gemm, calibration);
           if (!isSearch)
             return seconds;
           Gemm large{8192, 16384, 8192};
           large.precision = gemm.precision;
           return std::min(seconds,
                           gemm.flops() / large.flops() *
                               gemmSeconds(device, large, calibration));
         },
         // 36 us where the same product takes 24 us in the plot: PyTorch takes
         // longer to call the kernel than the kernel runs.
         set != "A100 cookbook" || gemm.m > 1024});
  }
}

static void readAttention(const std::string &folder, std::vector<Row> &rows) {
  for (CsvRow &row : readCsv(folder + "/calib_attention.csv")) {
    const Device device = clusterOf(clusterNameOf(row["gpu"])).device;
    Attention attention;
    attention.batch = std::atol(row["batch"].c_str());
    attention.heads = attention.keyValueHeads = std::atol(row["heads"].c_str());
    attention.queryLength = attention.keyLength =
        std::atol(row["seqlen"].c_str());
    attention.headSize = std::atol(row["head_dim"].c_str());
    attention.isCausal = row["causal"] == "1";
    Attention backward = attention;
    backward.isBackward = true;
    const bool hasForward = contains(row["pass"], "fwd");
    const bool hasBackward = contains(row["pass"], "bwd");
    const AttentionKernel kernel =
        row["impl"] == "FA2"   ? AttentionKernel::FlashAttention2
        : row["impl"] == "FA3" ? AttentionKernel::FlashAttention3
                               : AttentionKernel::Cudnn;
    const double flops = (hasForward ? attention.flops() : 0) +
                         (hasBackward ? backward.flops() : 0);
    const std::string set = row["gpu"] + " " + row["impl"] + " " + row["pass"] +
                            (attention.isCausal ? " causal" : "");
    rows.push_back(
        {"attention", set, set + " " + row["seqlen"],
         flops / (number(row["tflops"]) * 1e12),
         flops / device.peak(Precision::BF16),
         [=](const Calibration &calibration) {
           return (hasForward ? attentionSeconds(device, attention, kernel,
                                                 calibration)
                              : 0) +
                  (hasBackward
                       ? attentionSeconds(device, backward, kernel, calibration)
                       : 0);
         }});
  }
}

/// "... 100:.90 10:.75 ...": rates at sizes in megabytes.
static void readRatesBySize(const std::string &text, std::vector<Row> &rows) {
  const Device device = clusterOf("a100-sxm").device;
  for (size_t colon = text.find(":."); colon != std::string::npos;
       colon = text.find(":.", colon + 1)) {
    const size_t start = text.rfind(' ', colon) + 1;
    const double bytes = std::atof(text.c_str() + start) * 1e6;
    const double rate = std::atof(text.c_str() + colon + 1);
    if (bytes <= 0)
      continue;
    rows.push_back({"memory", "A100 by size",
                    "A100 " + text.substr(start, colon - start) + " MB",
                    bytes / (rate * 2048e9),
                    bytes / device.memoryBytesPerSecond,
                    [=](const Calibration &calibration) {
                      return memorySeconds(device, {bytes, 0}, calibration);
                    }});
  }
}

static void readMemory(const std::string &folder, std::vector<Row> &rows) {
  constexpr double bytes = 4e9;
  for (CsvRow &row : readCsv(folder + "/calib_memory_bandwidth.csv")) {
    const std::string test = row["test"];
    if (contains(test, "mem eff"))
      readRatesBySize(test, rows);
    // Of one log the convention is not known.
    if (row["GBps"].empty() || contains(test, "spec") ||
        contains(test, "nvbandwidth"))
      continue;
    const std::string name = clusterNameOf(row["device"]);
    const Cluster cluster =
        clusterOf(contains(row["device"], "P2P")
                      ? (name == "h200-sxm" ? "hgx-h200" : "dgx-h100")
                      : name);
    Row result{"memory", "", row["device"] + " " + test, 0, 0, {}};
    const Device &device = cluster.device;
    double rate = device.memoryBytesPerSecond;
    if (contains(test, "uni-directional")) {
      rate = cluster.node.link.bytesPerSecond;
      result.set = "peer to peer";
      result.predictedSeconds = [=](const Calibration &calibration) {
        return sendSeconds(cluster, bytes, 0, calibration);
      };
    } else if (contains(test, "H2D")) {
      rate = device.hostBytesPerSecond;
      result.set = "host copy";
      result.predictedSeconds = [=](const Calibration &calibration) {
        return hostCopySeconds(device, bytes, calibration);
      };
    } else {
      const bool isCopy = contains(test, "copy");
      result.set = isCopy ? "device copy" : "device read";
      const MemoryTraffic traffic{isCopy ? bytes / 2 : bytes,
                                  isCopy ? bytes / 2 : 0};
      result.predictedSeconds = [=](const Calibration &calibration) {
        return memorySeconds(device, traffic, calibration);
      };
    }
    result.measuredSeconds = bytes / (number(row["GBps"]) * 1e9);
    result.idealSeconds = bytes / rate;
    rows.push_back(std::move(result));
  }
}

/// The cluster that a row of collectives was measured on.
static Cluster collectiveCluster(const std::string &system) {
  if (contains(system, "PCIe")) {
    Cluster cluster = clusterOf("8xa100-pcie");
    if (contains(system, "PCIe5"))
      cluster.node.link.bytesPerSecond *= 2;
    return cluster;
  }
  if (contains(system, "V100")) {
    Cluster cluster = clusterOf("dgx-a100");
    cluster.node.link.bytesPerSecond = 150e9; // 6 NVLinks of 25 GB/s
    return cluster;
  }
  if (contains(system, "A100") || contains(system, "200Gb"))
    return clusterOf("dgx-a100");
  if (contains(system, "B200"))
    return clusterOf("dgx-b200");
  Cluster cluster =
      clusterOf(contains(system, "H200") ? "hgx-h200" : "dgx-h100");
  cluster.network->inNetworkReduction = contains(system, "SHARP");
  return cluster;
}

static void readCollectives(const std::string &folder, std::vector<Row> &rows) {
  for (CsvRow &row : readCsv(folder + "/calib_nccl.csv")) {
    const std::string system = row["system"], algorithm = row["algo"];
    Cluster cluster = collectiveCluster(system);
    CollectiveCall call;
    call.kind = *findCollectiveKind(row["collective"]);
    const bool isPeak = row["size_bytes"] == "peak";
    call.bytes = isPeak ? 17179869184.0 : number(row["size_bytes"]);
    int64_t ranks = std::atol(row["gpus"].c_str());
    const bool isOneNic = system.starts_with("1x");
    // "multi" of two nodes or more: 4.
    if (ranks == 0)
      ranks = isOneNic ? 4 : 32;
    call.group =
        placeGroup(cluster, {{ranks, isOneNic ? cluster.node.devices : 1}});
    const bool isRing =
        contains(algorithm + system, "Ring") || contains(system, "ring");
    const std::optional<Algorithm> only =
        isRing && !contains(algorithm, "default")
            ? std::optional(Algorithm::Ring)
            : std::nullopt;
    std::string set = system;
    if (isPeak)
      set = std::string("slides ") + row["collective"] +
            (call.group.isInNode() ? "" : " nodes");
    else if (contains(system, "IB NDR"))
      set = "H100 IB plot";
    else if (row["kind"] == "measured table" && !contains(algorithm, "default"))
      set = "8xH200 peaks";
    const double factor = busFactor(call.kind, ranks);
    const double link = call.group.isInNode()
                            ? cluster.node.link.bytesPerSecond
                            : cluster.network->nicBytesPerSecond *
                                  static_cast<double>(call.group.ranksPerNode);
    rows.push_back(
        {"nccl", set,
         system + " " + row["collective"] + ", " + std::to_string(ranks) +
             " ranks, " + row["size_bytes"] + (only ? " ring" : ""),
         call.bytes * factor / (number(row["busbw_GBps"]) * 1e9),
         call.bytes * factor / link, [=](const Calibration &calibration) {
           return collectiveTime(cluster, call, calibration, only).seconds;
         }});
  }
}

std::vector<Row> cost::readRows(const std::string &folder) {
  std::vector<Row> rows;
  readGemms(folder, rows);
  readAttention(folder, rows);
  readMemory(folder, rows);
  readCollectives(folder, rows);
  return rows;
}
