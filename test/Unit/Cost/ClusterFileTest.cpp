//===- ClusterFileTest.cpp - Cluster files and what is wrong in them ------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/ClusterFile.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace weft;
using namespace weft::cost;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

static constexpr const char *whole = R"(name = "mine"
[device]
kind = "GPU"
generation = "hopper"
units = 100
memory_bytes = 80e9
memory_bytes_per_second = 3e12
launch_seconds = 5e-6
host_bytes_per_second = 50e9
[device.flops_per_second]
bf16 = 1e15
[node]
devices = 4
[node.link]
kind = "nvswitch"
bytes_per_second = 400e9
in_switch_reduction = true
[network]
nics_per_node = 4
nic_bytes_per_second = 50e9
rails = 2
[[network.level]]
name = "leaf"
nodes = 16
[[network.level]]
name = "spine"
nodes = 64
oversubscription = 2
[mesh]
axis_order = ["tensor", "data"]
[reserves]
context_bytes = 1e9
[software]
name = "torch"
compute_factor = 1.1
issue_seconds = 1e-5
attention = "cudnn"
blocking_axes = ["tensor"]
)";

/// What is wrong in the whole file with `from` replaced by `to`.
static std::vector<std::string> problemsOf(const std::string &from,
                                           const std::string &to) {
  std::string text = whole;
  text.replace(text.find(from), from.size(), to);
  return parseCluster(text, "c.toml").problems;
}

TEST(ClusterFileTest, DefaultIsShipped) {
  EXPECT_TRUE(findShippedCluster(defaultCluster));
}

TEST(ClusterFileTest, ReadsEverything) {
  ParsedCluster parsed = parseCluster(whole, "c.toml");
  ASSERT_THAT(parsed.problems, IsEmpty());
  const Cluster &cluster = *parsed.cluster;
  EXPECT_EQ(cluster.name, "mine");
  EXPECT_EQ(cluster.device.generation, Generation::Hopper);
  EXPECT_EQ(cluster.device.units, 100);
  EXPECT_EQ(cluster.device.peak(Precision::BF16), 1e15);
  EXPECT_EQ(cluster.device.peak(Precision::F8), 0);
  EXPECT_EQ(cluster.node.devices, 4);
  EXPECT_EQ(cluster.node.link.kind, LinkKind::NVSwitch);
  EXPECT_TRUE(cluster.node.link.inSwitchReduction);
  EXPECT_EQ(cluster.network->rails, 2);
  EXPECT_EQ(cluster.network->levels[1].oversubscription, 2);
  EXPECT_EQ(cluster.devices(), 64 * 4);
  EXPECT_THAT(cluster.axisOrder, ElementsAre("tensor", "data"));
  EXPECT_EQ(cluster.reserves.bytes(), 1e9);
  EXPECT_EQ(cluster.software.computeFactor, 1.1);
  EXPECT_EQ(cluster.software.issueSeconds, 1e-5);
  EXPECT_EQ(cluster.software.attention, AttentionKernel::Cudnn);
  EXPECT_THAT(cluster.software.blockingAxes, ElementsAre("tensor"));
}

TEST(ClusterFileTest, AProfileHoldsWhereTheFileSaysNothing) {
  std::string text = whole;
  text.replace(text.find("name = \"torch\""), 14, "profile = \"foundry-2023\"");
  const ParsedCluster parsed = parseCluster(text, "c.toml");
  ASSERT_THAT(parsed.problems, IsEmpty());
  const SoftwareProfile &software = parsed.cluster->software,
                        foundry = *loadSoftware("foundry-2023").software;
  EXPECT_EQ(software.name, foundry.name);
  EXPECT_EQ(software.computeFactor, 1.1);
  EXPECT_EQ(software.trafficFactor, foundry.trafficFactor);
  EXPECT_GT(foundry.trafficFactor, 1);
}

TEST(ClusterFileTest, ShippedSoftwareIsWhole) {
  for (const ShippedFile &shipped : shippedSoftware())
    EXPECT_THAT(loadSoftware(std::string(shipped.name)).problems, IsEmpty())
        << shipped.name;
}

TEST(ClusterFileTest, SoftwareThatIsNoneIsRefused) {
  EXPECT_THAT(problemsOf("name = \"torch\"", "profile = \"jax\""),
              ElementsAre(testing::StartsWith(
                  "c.toml:34:1: \"profile\" in [software] must be one of "
                  "deepspeed-2022, ")));
  EXPECT_THAT(loadSoftware("/no/such.toml").problems,
              ElementsAre(testing::StartsWith(
                  "cannot read the software profile /no/such.toml: No such "
                  "file or directory; profiles with a name are ")));
  EXPECT_THAT(problemsOf("\"cudnn\"", "\"triton\""),
              ElementsAre("c.toml:37:1: \"attention\" in [software] must be "
                          "one of default, flash-attention-2, "
                          "flash-attention-3, cudnn, got the string "
                          "\"triton\""));
}

TEST(ClusterFileTest, ShippedFilesAreWhole) {
  std::vector<std::string_view> names;
  for (const ShippedFile &shipped : shippedClusters()) {
    ParsedCluster parsed = loadCluster(std::string(shipped.name));
    EXPECT_THAT(parsed.problems, IsEmpty()) << shipped.name;
    names.push_back(shipped.name);
  }
  EXPECT_THAT(names,
              ElementsAre("8xa100-pcie", "a100-40gb-foundry", "a100-foundry",
                          "a100-jean-zay", "a100-pcie", "a100-sxm",
                          "a100-vtrain", "b200-sxm", "cpu-2core",
                          "dgx-a100-40gb", "dgx-a100", "dgx-b200", "dgx-gb200",
                          "dgx-h100", "h100-500w", "h100-sxm", "h200-sxm",
                          "hgx-h200"));
}

/// Every value of a shipped file has its source beside it.
TEST(ClusterFileTest, ShippedNumbersHaveSources) {
  for (const ShippedFile &shipped : shippedClusters()) {
    std::string line;
    for (char c : shipped.text) {
      if (c != '\n') {
        line += c;
        continue;
      }
      const size_t equals = line.find(" = ");
      const bool isNumber =
          equals != std::string::npos && std::isdigit(line[equals + 3]);
      EXPECT_TRUE(!isNumber || line.find('#') != std::string::npos ||
                  line == "devices = 1")
          << shipped.name << ": " << line;
      line.clear();
    }
  }
}

TEST(ClusterFileTest, BaseGivesWhatIsNotSaid) {
  ParsedCluster parsed = parseCluster("base = \"dgx-h100\"\n"
                                      "name = \"half\"\n"
                                      "[network]\nnics_per_node = 4\n"
                                      "rails = 4\n",
                                      "c.toml");
  ASSERT_THAT(parsed.problems, IsEmpty());
  EXPECT_EQ(parsed.cluster->name, "half");
  EXPECT_EQ(parsed.cluster->network->nicsPerNode, 4);
  EXPECT_EQ(parsed.cluster->network->nicBytesPerSecond, 50e9);
  EXPECT_EQ(parsed.cluster->device.units, 132);
}

static constexpr const char *clusterNames =
    "8xa100-pcie, a100-40gb-foundry, a100-foundry, "
    "a100-jean-zay, a100-pcie, a100-sxm, a100-vtrain, b200-sxm, cpu-2core, "
    "dgx-a100-40gb, dgx-a100, dgx-b200, dgx-gb200, dgx-h100, h100-500w, "
    "h100-sxm, h200-sxm, hgx-h200";

TEST(ClusterFileTest, UnknownBase) {
  ParsedCluster parsed =
      parseCluster("name = \"x\"\nbase = \"dgx-x\"\n", "c.toml");
  EXPECT_THAT(parsed.problems,
              ElementsAre(std::string("c.toml:2:1: \"base\" must be one of ") +
                          clusterNames + ", got \"dgx-x\""));
}

TEST(ClusterFileTest, Syntax) {
  ParsedCluster parsed = parseCluster("name = \n", "c.toml");
  ASSERT_EQ(parsed.problems.size(), 1u);
  EXPECT_THAT(parsed.problems[0], testing::StartsWith("c.toml:1:"));
  EXPECT_FALSE(parsed.cluster);
}

/// However deep a file nests its tables.
TEST(ClusterFileTest, DeepTables) {
  std::string key = "a";
  for (int i = 0; i < 100000; ++i)
    key += ".a";
  EXPECT_THAT(parseCluster("# deep\n[" + key + "]\n", "c.toml").problems,
              ElementsAre("c.toml:2:1: a line of a cluster file has at most 32 "
                          "dots"));
}

TEST(ClusterFileTest, EmptyFile) {
  EXPECT_THAT(parseCluster("", "c.toml").problems,
              ElementsAre("c.toml:1:1: missing key \"device\" in the file",
                          "c.toml:1:1: missing key \"name\" in the file",
                          "c.toml:1:1: missing key \"node\" in the file"));
}

TEST(ClusterFileTest, UnknownKeys) {
  EXPECT_THAT(problemsOf("nics_per_node = 4", "nics_per_node = 4\nnics = 4"),
              ElementsAre("c.toml:20:1: unknown key \"nics\" in [network]; "
                          "known keys are nics_per_node, "
                          "nic_bytes_per_second, rails, in_network_reduction, "
                          "level"));
  EXPECT_THAT(problemsOf("bf16 = 1e15", "bf16 = 1e15\nbf17 = 1"),
              ElementsAre("c.toml:12:1: unknown key \"bf17\" in "
                          "[device.flops_per_second]; known keys are f64, "
                          "f32, tf32, bf16, f16, f8, f4, i8"));
}

TEST(ClusterFileTest, MissingKeys) {
  EXPECT_THAT(problemsOf("units = 100\n", ""),
              ElementsAre("c.toml:2:1: missing key \"units\" in [device]"));
  EXPECT_THAT(problemsOf("bf16 = 1e15\n", ""),
              ElementsAre("c.toml:10:1: [device.flops_per_second] has no "
                          "rate"));
}

TEST(ClusterFileTest, WrongTypes) {
  EXPECT_THAT(problemsOf("units = 100", "units = 1.5"),
              ElementsAre("c.toml:5:1: \"units\" in [device] must be an "
                          "integer, got 1.5"));
  EXPECT_THAT(problemsOf("memory_bytes = 80e9", "memory_bytes = \"80 GB\""),
              ElementsAre("c.toml:6:1: \"memory_bytes\" in [device] must be a "
                          "number, got the string \"80 GB\""));
  EXPECT_THAT(
      problemsOf("in_switch_reduction = true", "in_switch_reduction = 1"),
      ElementsAre("c.toml:17:1: \"in_switch_reduction\" in "
                  "[node.link] must be true or false, got 1"));
  EXPECT_THAT(problemsOf("name = \"mine\"", "name = 2020-01-01"),
              ElementsAre("c.toml:1:1: \"name\" in the file must be a string, "
                          "got a date"));
  EXPECT_THAT(problemsOf("axis_order = [\"tensor\", \"data\"]",
                         "axis_order = [\"tensor\", 2]"),
              ElementsAre("c.toml:30:1: \"axis_order\" in [mesh] must be an "
                          "array of strings, got an array"));
  EXPECT_THAT(
      problemsOf("axis_order = [\"tensor\", \"data\"]",
                 "axis_order = [\"tensor\", \"data\", \"tensor\"]"),
      ElementsAre("c.toml:30:1: \"axis_order\" in [mesh] has \"tensor\" "
                  "twice; name each one once"));
  EXPECT_THAT(
      parseCluster("base = \"dgx-h100\"\nmesh = true\n", "c.toml").problems,
      ElementsAre("c.toml:2:1: \"mesh\" in the file must be a table, got "
                  "true"));
  EXPECT_THAT(
      parseCluster("base = \"dgx-h100\"\n[network]\nlevel = 3\n", "c.toml")
          .problems,
      ElementsAre("c.toml:3:1: \"level\" in [network] must be an array of "
                  "tables, got 3"));
}

TEST(ClusterFileTest, ImpossibleValues) {
  EXPECT_THAT(problemsOf("units = 100", "units = 0"),
              ElementsAre("c.toml:5:1: \"units\" in [device] must be from 1 "
                          "to 1.04858e+06, got 0"));
  EXPECT_THAT(problemsOf("80e9", "nan"),
              ElementsAre("c.toml:6:1: \"memory_bytes\" in [device] must be "
                          "from 1 to 1e+18, got nan"));
  EXPECT_THAT(problemsOf("memory_bytes_per_second = 3e12",
                         "memory_bytes_per_second = 1"),
              ElementsAre("c.toml:7:1: \"memory_bytes_per_second\" in [device] "
                          "must be from 1e+06 to 1e+18, got 1"));
  EXPECT_THAT(problemsOf("\"hopper\"", "\"volta\""),
              ElementsAre("c.toml:4:1: \"generation\" in [device] must be one "
                          "of cpu, ampere, hopper, blackwell, got the string "
                          "\"volta\""));
  EXPECT_THAT(problemsOf("rails = 2", "rails = 3"),
              ElementsAre("c.toml:21:1: \"rails\" in [network] must divide "
                          "nics_per_node, 4, got 3"));
  EXPECT_THAT(problemsOf("nodes = 64", "nodes = 40"),
              ElementsAre("c.toml:27:1: \"nodes\" in [[network.level]] must "
                          "be a multiple of those of the level before, 16, "
                          "got 40"));
  EXPECT_THAT(problemsOf("context_bytes = 1e9", "context_bytes = 80e9"),
              ElementsAre("c.toml:31:1: [reserves] leave nothing of the "
                          "memory of a device"));
  EXPECT_THAT(problemsOf("kind = \"nvswitch\"", "kind = \"pcie\""),
              ElementsAre("c.toml:17:1: \"in_switch_reduction\" needs a link "
                          "of the kind nvswitch"));
  EXPECT_THAT(problemsOf("kind = \"nvswitch\"\nbytes_per_second = 400e9\n"
                         "in_switch_reduction = true",
                         "kind = \"none\""),
              ElementsAre("c.toml:15:1: \"kind\" in [node.link] must be a "
                          "link where a node has several devices"));
}

TEST(ClusterFileTest, CoresOfCollectivesAreOfCpus) {
  EXPECT_THAT(problemsOf("units = 100", "units = 100\ncollective_cores = 1"),
              ElementsAre("c.toml:6:1: \"collective_cores\" in [device] is for "
                          "devices of the generation cpu"));
}

TEST(ClusterFileTest, CachesAreOfSharedMemory) {
  EXPECT_THAT(problemsOf("bytes_per_second = 400e9",
                         "bytes_per_second = 400e9\ncache_bytes = 1e6"),
              ElementsAre("c.toml:17:1: unknown key \"cache_bytes\" in "
                          "[node.link]; known keys are kind, "
                          "bytes_per_second, latency_seconds, "
                          "in_switch_reduction"));
}

TEST(ClusterFileTest, SharedMemoryHasALatency) {
  EXPECT_THAT(problemsOf("kind = \"nvswitch\"\nbytes_per_second = 400e9\n"
                         "in_switch_reduction = true",
                         "kind = \"shared_memory\"\nbytes_per_second = 1e9"),
              ElementsAre("c.toml:14:1: missing key \"latency_seconds\" in "
                          "[node.link]"));
}

/// In the order of the file.
TEST(ClusterFileTest, AllProblemsAtOnce) {
  std::string text = whole;
  text.replace(text.find("units = 100"), 11, "units = -1");
  text.replace(text.find("rails = 2"), 9, "rail = 2");
  text.replace(text.find("kind = \"GPU\""), 12, "kind = 7");
  EXPECT_THAT(parseCluster(text, "c.toml").problems,
              ElementsAre(testing::StartsWith("c.toml:3:1: \"kind\""),
                          testing::StartsWith("c.toml:5:1: \"units\""),
                          testing::StartsWith("c.toml:21:1: unknown key")));
}

TEST(ClusterFileTest, NoSuchFile) {
  EXPECT_THAT(
      loadCluster("/no/such.toml").problems,
      ElementsAre(std::string("cannot read the cluster file /no/such.toml: "
                              "No such file or directory; clusters with a "
                              "name are ") +
                  clusterNames));
  EXPECT_THAT(loadCluster("/").problems,
              ElementsAre(testing::StartsWith(
                  "cannot read the cluster file /: Is a directory")));
}
