//===- ClusterFile.cpp - Reads a description of a cluster -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/ClusterFile.h"

#include "SoftwareReader.h"

using namespace weft;
using namespace weft::cost;

// Bounds keep products of values in range; no machine comes near them.
static constexpr Range rates = {1e6, 1e18}, bytes = {1, 1e18},
                       reserved = {0, 1e18}, seconds = {0, 1},
                       counts = {1, 1 << 20};

/// The names of an enumeration of `count` values.
template <typename Kind> static std::vector<std::string> namesOf(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i)
    names.emplace_back(nameOf(static_cast<Kind>(i)));
  return names;
}

/// What only CPUs have; no key is required.
static void readCore(TableReader &file, Device &device) {
  static constexpr Range elementSeconds = {1e-15, 1e-3};
  CoreRates &core = device.core;
  for (std::string_view table :
       {"cache", "gemm", "attention", "elementwise", "function_seconds"})
    if (file.has(table) && device.generation != Generation::Cpu)
      file.fail(table, "[device." + std::string(table) +
                           "] is for devices of the generation cpu");
  TableReader cache = file.inner("cache", "[device.cache]");
  if (file.has("collective_cores") && device.generation != Generation::Cpu)
    file.fail("collective_cores", "\"collective_cores\" in [device] is for "
                                  "devices of the generation cpu");
  core.cacheBytes = cache.number("bytes", reserved, 0);
  core.cachedBytesPerSecond =
      cache.number("bytes_per_second", rates, device.memoryBytesPerSecond);
  cache.finish();
  TableReader gemm = file.inner("gemm", "[device.gemm]");
  core.gemmBytesPerSecond = gemm.number("bytes_per_second", rates, 0);
  core.gemmCachedBytesPerSecond =
      gemm.number("cached_bytes_per_second", rates, core.gemmBytesPerSecond);
  core.gemmCacheBytes = gemm.number("cache_bytes", reserved, core.cacheBytes);
  gemm.finish();
  TableReader attention = file.inner("attention", "[device.attention]");
  core.attentionFlopsPerSecond = attention.number("flops_per_second", rates, 0);
  core.attentionGradFlopsPerSecond = attention.number(
      "grad_flops_per_second", rates, core.attentionFlopsPerSecond);
  attention.finish();
  TableReader elementwise = file.inner("elementwise", "[device.elementwise]");
  core.elementFlopsPerSecond = elementwise.number("flops_per_second", rates, 0);
  elementwise.finish();
  TableReader functions =
      file.inner("function_seconds", "[device.function_seconds]");
  for (size_t i = 0; i < functionCount; ++i)
    core.functionSeconds[i] =
        functions.number(nameOf(static_cast<Function>(i)), elementSeconds, 0);
  functions.finish();
}

static Device readDevice(TableReader file) {
  Device device;
  device.kind = file.text("kind");
  device.generation = static_cast<Generation>(
      file.choice("generation", namesOf<Generation>(generationCount)));
  device.units = file.integer("units", counts);
  device.memoryBytes = file.number("memory_bytes", bytes);
  device.memoryBytesPerSecond = file.number("memory_bytes_per_second", rates);
  device.launchSeconds = file.number("launch_seconds", seconds);
  device.hostBytesPerSecond = file.number("host_bytes_per_second", rates);
  device.collectiveCores = file.number("collective_cores", {0, 1024}, 1);
  TableReader peaks =
      file.inner("flops_per_second", "[device.flops_per_second]");
  bool hasAny = false;
  for (size_t i = 0; i < precisionCount; ++i) {
    std::string_view name = nameOf(static_cast<Precision>(i));
    device.flopsPerSecond[i] = peaks.number(name, rates, 0);
    hasAny |= peaks.has(name);
  }
  peaks.finish();
  if (!hasAny)
    peaks.fail("", "[device.flops_per_second] has no rate");
  readCore(file, device);
  file.finish();
  return device;
}

static Node readNode(TableReader file) {
  Node node;
  node.devices = file.integer("devices", counts);
  node.memoryBytesPerSecond = file.number("memory_bytes_per_second", rates, 0);
  if (node.devices > 1 || file.has("link")) {
    TableReader link = file.inner("link", "[node.link]");
    node.link.kind = static_cast<LinkKind>(
        link.choice("kind", namesOf<LinkKind>(linkKindCount)));
    const bool isLink = node.link.kind != LinkKind::None;
    if (!isLink && link.has("kind") && node.devices > 1)
      link.fail("kind", "\"kind\" in [node.link] must be a link where a node "
                        "has several devices");
    node.link.bytesPerSecond = link.number(
        "bytes_per_second", rates, isLink ? std::nullopt : std::optional(0.0));
    if (node.link.kind == LinkKind::SharedMemory) {
      node.link.latencySeconds = link.number("latency_seconds", seconds);
      node.link.cacheBytes = link.number("cache_bytes", reserved, 0);
      node.link.cachedBytesPerSecond = link.number(
          "cached_bytes_per_second", rates, node.link.bytesPerSecond);
    } else {
      node.link.latencySeconds = link.number("latency_seconds", seconds, 0);
    }
    node.link.inSwitchReduction = link.boolean("in_switch_reduction", false);
    if (node.link.inSwitchReduction && node.link.kind != LinkKind::NVSwitch)
      link.fail("in_switch_reduction",
                "\"in_switch_reduction\" needs a link of the kind nvswitch");
    link.finish();
  }
  file.finish();
  return node;
}

static Network readNetwork(TableReader file) {
  Network network;
  network.nicsPerNode = file.integer("nics_per_node", counts);
  network.nicBytesPerSecond = file.number("nic_bytes_per_second", rates);
  network.rails = file.integer("rails", counts, 1);
  if (network.nicsPerNode % network.rails != 0)
    file.fail("rails", "\"rails\" in [network] must divide nics_per_node, " +
                           std::to_string(network.nicsPerNode) + ", got " +
                           std::to_string(network.rails));
  network.inNetworkReduction = file.boolean("in_network_reduction", false);
  file.each("level", "[[network.level]]", [&](TableReader &level) {
    const int64_t inner =
        network.levels.empty() ? 1 : network.levels.back().nodes;
    NetworkLevel &result = network.levels.emplace_back();
    result.name = level.text("name");
    result.nodes = level.integer("nodes", counts);
    result.oversubscription = level.number("oversubscription", {1, 1000}, 1);
    if (result.nodes % inner != 0)
      level.fail("nodes", "\"nodes\" in [[network.level]] must be a multiple "
                          "of those of the level before, " +
                              std::to_string(inner) + ", got " +
                              std::to_string(result.nodes));
  });
  if (network.levels.empty())
    network.levels.push_back({"missing", 1, 1});
  file.finish();
  return network;
}

static Reserves readReserves(TableReader file, double memoryBytes) {
  Reserves reserves;
  reserves.contextBytes = file.number("context_bytes", reserved, 0);
  reserves.ncclBytes = file.number("nccl_bytes", reserved, 0);
  reserves.cublasBytes = file.number("cublas_bytes", reserved, 0);
  if (reserves.bytes() >= memoryBytes)
    file.fail("", "[reserves] leave nothing of the memory of a device");
  file.finish();
  return reserves;
}

static Cluster readCluster(TomlValue &root, Problems &problems) {
  TableReader file(root.as<TomlTable>(), root.position, "the file", problems);
  Cluster cluster;
  file.text("base", "");
  cluster.name = file.text("name");
  for (std::string_view table : {"device", "node"})
    if (!file.has(table))
      file.missing(table);
  const bool hasDevice = file.has("device"), hasNode = file.has("node");
  TableReader device = file.inner("device", "[device]");
  if (hasDevice)
    cluster.device = readDevice(device);
  TableReader node = file.inner("node", "[node]");
  if (hasNode)
    cluster.node = readNode(node);
  TableReader network = file.inner("network", "[network]");
  if (file.has("network"))
    cluster.network = readNetwork(network);
  TableReader mesh = file.inner("mesh", "[mesh]");
  cluster.axisOrder = mesh.texts("axis_order");
  mesh.finish();
  cluster.reserves =
      readReserves(file.inner("reserves", "[reserves]"),
                   hasDevice ? cluster.device.memoryBytes : bytes.most);
  cluster.software = readSoftware(file.inner("software", "[software]"));
  file.finish();
  return cluster;
}

/// Puts the keys of the base, and of the base of that one, under those of
/// `root`.
static void addBase(TomlValue &root, Problems &problems, int depth = 0) {
  TomlTable *table = root.as<TomlTable>();
  TomlEntry *base = table->find("base");
  std::string *name = base ? base->value.as<std::string>() : nullptr;
  if (!name)
    return;
  std::optional<std::string_view> text = findShippedCluster(*name);
  if (!text) {
    problems.push_back({base->position, "\"base\" must be one of " +
                                            namesOf(shippedClusters()) +
                                            ", got \"" + *name + "\""});
    return;
  }
  TomlValue under = parseToml(*text, *name + ".toml").root;
  if (depth < 8) // shipped files have no circle; this shows it
    addBase(under, problems, depth + 1);
  merge(*under.as<TomlTable>(), std::move(*table));
  *table = std::move(*under.as<TomlTable>());
}

ParsedCluster cost::parseCluster(std::string_view text,
                                 const std::string &fileName) {
  ParsedToml toml = parseToml(text, fileName);
  if (!toml.problem.empty())
    return {std::nullopt, {toml.problem}};
  Problems problems;
  addBase(toml.root, problems);
  // A base that is unknown would make everything missing.
  Cluster cluster;
  if (problems.empty())
    addProfile(*toml.root.as<TomlTable>(), problems);
  if (problems.empty())
    cluster = readCluster(toml.root, problems);
  ParsedCluster result{std::nullopt, printSorted(problems)};
  if (problems.empty())
    result.cluster = std::move(cluster);
  return result;
}

std::optional<std::string_view>
cost::findShippedCluster(std::string_view name) {
  return findShipped(shippedClusters(), name);
}

ParsedCluster cost::loadCluster(const std::string &nameOrPath) {
  if (std::optional<std::string_view> text = findShippedCluster(nameOrPath))
    return parseCluster(*text, nameOrPath + ".toml");
  std::string problem;
  if (std::optional<std::string> text = readText(nameOrPath, problem))
    return parseCluster(*text, nameOrPath);
  return {std::nullopt,
          {"cannot read the cluster file " + nameOrPath + ": " + problem +
           "; clusters with a name are " + namesOf(shippedClusters())}};
}
