//===- ClusterText.cpp - Measurements as a cluster file -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fit.h"

#include <fmt/format.h>

#include <algorithm>

using namespace weft::cost;
using weft::runtime::DType;

namespace weft::tools {
namespace {

/// Lines of a TOML file, comments below each other.
class ClusterText {
public:
  void line(const std::string &text) { all += text + "\n"; }
  void table(const std::string &name) { all += "\n[" + name + "]\n"; }
  void number(std::string_view key, double value, const std::string &source) {
    add(key, fmt::format("{:.4g}", value), source);
  }
  void integer(std::string_view key, double value, const std::string &source) {
    add(key, fmt::format("{:.0f}", value), source);
  }
  std::string all;

private:
  void add(std::string_view key, const std::string &value,
           const std::string &source) {
    all += fmt::format("{:<38} # {}\n", fmt::format("{} = {}", key, value),
                       source);
  }
};

} // namespace

static std::string cores(int64_t count) {
  return fmt::format("{} core{}", count, count == 1 ? "" : "s");
}

static void printPeaks(ClusterText &text, const FittedCluster &fitted,
                       const Results &results) {
  const Device &device = fitted.cluster.device;
  text.table("device.flops_per_second");
  for (size_t i = 0; i < precisionCount; ++i) {
    const auto precision = static_cast<Precision>(i);
    if (device.flopsPerSecond[i] <= 0)
      continue;
    std::string source = "measured: highest rate of a GEMM";
    if (precision == Precision::F32)
      source = fmt::format("measured: fitted to {} GEMMs with the rates of "
                           "[device.gemm], mean error {:.1f} %, worst {:.1f} %",
                           std::ranges::count(results.gemms, DType::F32,
                                              [](const GemmRow &row) {
                                                return row.shape.dtype;
                                              }),
                           100 * fitted.gemmError, 100 * fitted.worstGemmError);
    text.number(nameOf(precision), device.flopsPerSecond[i], source);
  }
}

static void printCore(ClusterText &text, const CoreRates &core) {
  text.table("device.cache");
  text.integer("bytes", core.cacheBytes,
               "measured: the most bytes at which adding two vectors is fast");
  text.number("bytes_per_second", core.cachedBytesPerSecond,
              "measured: adding two vectors in the cache, median of sizes");
  text.table("device.gemm");
  text.number("bytes_per_second", core.gemmBytesPerSecond,
              "measured: fitted with flops_per_second, results beyond the "
              "cache");
  text.number("cached_bytes_per_second", core.gemmCachedBytesPerSecond,
              "measured: the same, copies of operands in the cache");
  text.integer("cache_bytes", core.gemmCacheBytes,
               "measured: the same, results that stay in the cache");
  text.table("device.attention");
  text.number("flops_per_second", core.attentionFlopsPerSecond,
              "measured: causal attention, whole blocks, median of sizes");
  text.number("grad_flops_per_second", core.attentionGradFlopsPerSecond,
              "measured: its backward pass");
  text.table("device.elementwise");
  text.number("flops_per_second", core.elementFlopsPerSecond,
              "measured: a kernel of multiplications and additions");
  text.table("device.function_seconds");
  for (size_t i = 0; i < functionCount; ++i)
    if (core.functionSeconds[i] > 0)
      text.number(nameOf(static_cast<Function>(i)), core.functionSeconds[i],
                  "measured: a kernel of it, an element of f32");
}

static void printNode(ClusterText &text, const Cluster &cluster) {
  text.table("node");
  text.integer("devices", static_cast<double>(cluster.node.devices),
               "cores of the machine; more ranks share them");
  if (cluster.node.memoryBytesPerSecond > 0)
    text.number("memory_bytes_per_second", cluster.node.memoryBytesPerSecond,
                "measured: adding two vectors on all cores at once, median of "
                "sizes");
  const NodeLink &link = cluster.node.link;
  text.table("node.link");
  text.line("kind = \"shared_memory\"");
  text.number("bytes_per_second", link.bytesPerSecond,
              "measured: collectives of 2 ranks, the most bytes, median of "
              "kinds");
  text.number("latency_seconds", link.latencySeconds,
              "measured: collectives of 2 ranks, the fewest bytes, median");
  text.integer("cache_bytes", link.cacheBytes,
               "measured: the most bytes at which collectives are fast");
  text.number("cached_bytes_per_second", link.cachedBytesPerSecond,
              "measured: collectives of 2 ranks in the cache, median");
}

std::string printCluster(const FittedCluster &fitted, const Results &results,
                         const Machine &machine, const std::string &name) {
  const Cluster &cluster = fitted.cluster;
  const Device &device = cluster.device;
  ClusterText text;
  text.line("# Written by shard-bench, which times the runtime's own code. "
            "\"measured\": the middle");
  text.line("# one of many batches, in CPU time; of several ranks that of all "
            "over their cores.");
  text.line(fmt::format("# Load {:.1f} on {}; others had the cores in {} of {} "
                        "measurements{}",
                        machine.load, cores(machine.cores), results.busy,
                        results.measured,
                        results.busy * 4 > results.measured
                            ? ": rates of memory and links are lower bounds."
                            : "."));
  text.line(fmt::format("name = \"{}\"", name));
  text.table("device");
  text.line(fmt::format("kind = \"{}\"", device.kind));
  text.line("generation = \"cpu\"");
  text.integer("units", 1, "a rank computes on one core");
  text.integer("memory_bytes", device.memoryBytes,
               "the machine's, divided by its cores");
  text.number("memory_bytes_per_second", device.memoryBytesPerSecond,
              "measured: adding two vectors beyond the cache, median of sizes");
  text.number("launch_seconds", device.launchSeconds,
              "measured: from one kernel to the next, in a list of them");
  text.number("host_bytes_per_second", device.hostBytesPerSecond,
              "half of memory_bytes_per_second: a copy reads and writes");
  text.integer("collective_cores", device.collectiveCores,
               "a thread beside the one that computes");
  printPeaks(text, fitted, results);
  printCore(text, device.core);
  printNode(text, cluster);
  return text.all;
}

} // namespace weft::tools
