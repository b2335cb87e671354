//===- Cluster.h - What a program runs on -----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cluster as values: one kind of device, nodes of some of them, and a network
// of nodes in levels. Made from a cluster file (ClusterFile.h), and read by the
// cost model alone. Rates are bytes and floating-point operations *a second*,
// times are seconds, and a link's rate is that of one direction.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_CLUSTER_H
#define WEFT_COST_CLUSTER_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cost {

/// The number format of a matmul.
enum class Precision : uint8_t { F64, F32, TF32, BF16, F16, F8, F4, I8 };
inline constexpr size_t precisionCount = 8;
/// "bf16".
std::string_view nameOf(Precision precision);
std::optional<Precision> findPrecision(std::string_view name);
/// Bytes of one element; half a byte for f4.
double bytesOf(Precision precision);

/// What the calibration of kernels and collectives depends on.
enum class Generation : uint8_t { Cpu, Ampere, Hopper, Blackwell };
inline constexpr size_t generationCount = 4;
std::string_view nameOf(Generation generation);
std::optional<Generation> findGeneration(std::string_view name);

/// Element-wise functions that take longer than an operation, by the name that
/// MLIR's dialect `math` has for them; and `arith.extf` to f64, with the
/// addition that it is for: sums are formed in f64.
enum class Function : uint8_t {
  Atan,
  Atan2,
  Cos,
  Erf,
  Exp,
  Exp2,
  Expm1,
  Extf,
  Log,
  Log10,
  Log1p,
  Log2,
  Pow,
  Rsqrt,
  Sin,
  Sqrt,
  Tanh
};
inline constexpr size_t functionCount = 17;
/// "exp"; of Pow "powf".
std::string_view nameOf(Function function);
std::optional<Function> findFunction(std::string_view name);

/// What a core of a CPU does beside products at its peak; zeros where it is
/// not known, and on GPUs.
struct CoreRates {
  /// Kernels of at most so many bytes stay in the cache.
  double cacheBytes = 0, cachedBytesPerSecond = 0;
  /// At which matmuls copy operands that are in the cache.
  double gemmCachedBytesPerSecond = 0;
  /// At which results come from beyond the cache to be added to, a few elements
  /// of each row at a time; larger ones than `gemmCacheBytes` do for each block
  /// of a sum.
  double gemmBytesPerSecond = 0, gemmCacheBytes = 0;
  /// Of the pairs of a query and a key that attention looks at.
  double attentionFlopsPerSecond = 0, attentionGradFlopsPerSecond = 0;
  /// Element-wise operations.
  double elementFlopsPerSecond = 0;
  /// Of an element.
  std::array<double, functionCount> functionSeconds = {};
};

struct Device {
  /// "NVIDIA H100 SXM5 80 GB".
  std::string kind;
  Generation generation = Generation::Cpu;
  /// Streaming multiprocessors of a GPU, cores of a CPU that one rank uses.
  int64_t units = 1;
  /// Peak of dense matmuls; 0 where the device has no such products.
  std::array<double, precisionCount> flopsPerSecond = {};
  double memoryBytes = 0;
  /// Reads and writes together.
  double memoryBytesPerSecond = 0;
  /// From the host's call to the first instruction of a kernel.
  double launchSeconds = 0;
  /// Copies between the device and its host, one direction.
  double hostBytesPerSecond = 0;
  /// Of a CPU: on how many cores a collective of a rank runs, beside the
  /// `units` that compute; 0 where other hardware moves the data.
  double collectiveCores = 1;
  CoreRates core;

  double peak(Precision precision) const {
    return flopsPerSecond[static_cast<size_t>(precision)];
  }
};

/// What connects the devices of a node.
enum class LinkKind : uint8_t { None, NVLink, NVSwitch, Pcie, SharedMemory };
inline constexpr size_t linkKindCount = 5;
std::string_view nameOf(LinkKind kind);
std::optional<LinkKind> findLinkKind(std::string_view name);

struct NodeLink {
  LinkKind kind = LinkKind::None;
  /// Of one device, one direction, all its links together, as in data sheets.
  double bytesPerSecond = 0;
  /// From one device to another; 0: that of NCCL for the kind of link.
  double latencySeconds = 0;
  /// Of shared memory: collectives of at most so many bytes stay in the cache,
  /// and run at another rate.
  double cacheBytes = 0, cachedBytesPerSecond = 0;
  /// The switch adds up what passes through it (NVLS).
  bool inSwitchReduction = false;
};

struct Node {
  /// Of a CPU: cores, or sets of `units` of them. More ranks than that share
  /// them (SharedNode.h).
  int64_t devices = 1;
  /// Of all devices of a CPU together; 0: each has its own.
  double memoryBytesPerSecond = 0;
  /// Of a CPU: cores of the node for each of its ranks, where these are counted
  /// (SharedNode.h); otherwise a rank has those that it computes on.
  double coresOfRank = 0;
  NodeLink link;
};

/// Blocks of nodes whose traffic stays below one layer of switches.
struct NetworkLevel {
  std::string name;
  int64_t nodes = 1;
  /// Bandwidth into the layer over that which leaves it: 1 does not block.
  double oversubscription = 1;
};

struct Network {
  int64_t nicsPerNode = 0;
  /// One direction.
  double nicBytesPerSecond = 0;
  /// NICs of a node that end at different leaf switches.
  int64_t rails = 1;
  /// Switches add up what passes through them (SHARP).
  bool inNetworkReduction = false;
  /// From the innermost; each holds a multiple of the nodes of the one before.
  std::vector<NetworkLevel> levels;
};

/// Memory of a device that no plan can have.
struct Reserves {
  double contextBytes = 0, ncclBytes = 0, cublasBytes = 0;
  double bytes() const { return contextBytes + ncclBytes + cublasBytes; }
};

enum class AttentionKernel : uint8_t {
  FlashAttention2,
  FlashAttention3,
  Cudnn
};
inline constexpr size_t attentionKernelCount = 3;
std::string_view nameOf(AttentionKernel kernel);

/// What software makes of the machine: two fitted numbers, and what is known
/// of it. The default is Weft itself.
struct SoftwareProfile {
  std::string name = "default";
  /// Seconds of kernels on this software over seconds by the model.
  double computeFactor = 1;
  /// The same of its attention kernel, relative to other kernels: of one that
  /// is older than those of the model.
  double attentionFactor = 1;
  /// Of the host for each matmul and what it issues around it. It runs ahead of
  /// the device, which waits where kernels are shorter. 0: it launches whole
  /// calls.
  double issueSeconds = 0;
  /// Bytes that kernels other than products and attention move, over those of
  /// the plan: of software that fuses less, or that has dropout.
  double trafficFactor = 1;
  /// None: what frameworks take on the device.
  std::optional<AttentionKernel> attention;
  /// Mesh axes along which it computes nothing while it communicates.
  std::vector<std::string> blockingAxes;
};

struct Cluster {
  std::string name;
  Device device;
  Node node;
  /// None: one node.
  std::optional<Network> network;
  /// Mesh axes from that of the nearest devices; see Placement.h.
  std::vector<std::string> axisOrder;
  Reserves reserves;
  SoftwareProfile software;

  int64_t nodes() const { return network ? network->levels.back().nodes : 1; }
  int64_t devices() const { return nodes() * node.devices; }
};

} // namespace weft::cost

#endif // WEFT_COST_CLUSTER_H
