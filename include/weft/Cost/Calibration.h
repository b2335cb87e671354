//===- Calibration.h - The fitted constants of the cost model ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers that no data sheet has. They are fitted to benchmarks/perf_data by
// benchmarks/cost_accuracy, which prints this list; docs/Cost.md says which
// rows decide which number. Those marked "assumed" no row decides.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_CALIBRATION_H
#define WEFT_COST_CALIBRATION_H

#include "weft/Cost/Cluster.h"

namespace weft::cost {

/// One number for each generation: cpu, ampere, hopper, blackwell.
using ByGeneration = std::array<double, generationCount>;

inline double of(const ByGeneration &numbers, const Device &device) {
  return numbers[static_cast<size_t>(device.generation)];
}

struct Calibration {
  // Matmuls, GemmCost.h.
  /// Peak that the inner loop sustains on random data.
  ByGeneration gemmRate = {1, 0.97, 0.931, 0.882};
  /// Filling and draining the pipeline of a tile, as if k was so much larger
  /// (of 2-byte elements).
  double gemmFillDepth = 291;
  /// A tile of m x n takes 1 + edge (1/m + 1/n) times its products.
  double gemmTileEdge = 6.66;
  /// Beyond the launch.
  double gemmStartSeconds = 2.09e-6;
  /// Rate where rows are not aligned to 16 bytes; assumed.
  double gemmUnalignedRate = 0.5;
  /// Rate where rows are, but not to whole lines of the cache, 128 bytes: a
  /// step of 14400 features over 8 ranks takes 1.27 times as long as one of
  /// 13824 (BLOOM), of which products are three fifths.
  double gemmSplitLineRate = 0.7;

  // Attention, AttentionCost.h: fraction of the peak, by kernel. Assumed: on a
  // CPU; FlashAttention-2 and -3 as fast on Blackwell as on Hopper, cuDNN the
  // same fraction, and one kernel for all on Ampere.
  ByGeneration flashAttention2Rate = {0.5, 0.701, 0.371, 0.16};
  ByGeneration flashAttention3Rate = {0.5, 0.701, 0.652, 0.29};
  ByGeneration cudnnAttentionRate = {0.5, 0.701, 0.619, 0.619};
  /// Rate of the backward pass over that of the forward pass.
  double attentionBackwardRate = 0.846;
  /// Traffic of the backward pass over that of the forward pass.
  double attentionBackwardTraffic = 5.47;
  /// Time of causal attention over its share of the blocks.
  double causalImbalance = 1.04;
  /// Rows and columns of a block that is computed whole.
  double causalBlock = 157;

  // Kernels bound by memory, MemoryCost.h.
  /// Fraction of the bandwidth that large reads, and copies, reach.
  double readRate = 0.96, copyRate = 0.882;
  /// The same for 1 MB, and what ten times the bytes add.
  double megabyteRate = 0.602, decadeRate = 0.151;
  /// Fraction of PCI Express that copies to and from the host reach.
  double hostRate = 0.87;

  // Collectives, CollectiveTime.h.
  /// Fraction of links that rings use.
  double nvlinkRate = 0.799, pcieRate = 0.762, networkRate = 0.982;
  /// Fraction of links that pairs of devices use: alone, and all at once.
  double pairRate = 0.858, pairwiseRate = 0.724;
  /// Bytes that in-switch reduction takes, over those of a device's links.
  ByGeneration inSwitchRate = {0, 0, 0.603, 0.543};
  /// Fraction of NCCL's bound for the protocol LL.
  ByGeneration lowLatencyRate = {1, 0.209, 1.28, 1};
  /// Added to NCCL's base latency of each call.
  double callSeconds = 6.7e-6;
  /// Hops over NCCL's latency of a hop: in a node, and between nodes (for LL
  /// there, one).
  double nodeHopFactor = 2.89, networkHopFactor = 4.2;
  /// Pipelines of the protocol Simple fill as if so many bytes were added.
  double fillBytes = 2.36e6;
  /// Units that a collective of a GPU takes from kernels beside it; assumed.
  double collectiveUnits = 16;
};

} // namespace weft::cost

#endif // WEFT_COST_CALIBRATION_H
