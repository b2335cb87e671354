//===- NcclConstants.h - NCCL's own constants of its algorithms -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From benchmarks/perf_data/nccl_model_constants.csv, which takes them from
// NCCL (src/graph/tuning.cc). They are what the library chooses by, not
// measurements: Calibration.h has what measured calls make of them.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_COST_NCCLCONSTANTS_H
#define WEFT_LIB_COST_NCCLCONSTANTS_H

#include <cstddef>

namespace weft::cost::nccl {

/// By protocol: LL, LL128, Simple.
using ByProtocol = double[3];

/// Seconds of a call.
inline constexpr ByProtocol treeBase = {6.8e-6, 14e-6, 8.4e-6},
                            ringBase = {6.6e-6, 14e-6, 8.4e-6};
inline constexpr double patBase = 8e-6, switchBase = 8.4e-6;

/// Seconds of a hop.
inline constexpr ByProtocol nvlinkTreeHop = {0.6e-6, 1.25e-6, 4e-6},
                            nvlinkRingHop = {0.6e-6, 1.9e-6, 3.4e-6},
                            pcieTreeHop = {1e-6, 1.9e-6, 4e-6},
                            pcieRingHop = {1e-6, 2.5e-6, 5.7e-6},
                            networkTreeHop = {5e-6, 8.5e-6, 14e-6},
                            networkRingHop = {2.7e-6, 4e-6, 14e-6};
inline constexpr double switchHop = 25e-6, switchNetworkHop = 18e-6,
                        switchTreeHop = 20.9e-6, patHop = 14e-6;

/// Bandwidth of a protocol over that of the links.
inline constexpr ByProtocol ringRate = {0.5, 0.92, 1};
inline constexpr ByProtocol treeRate = {0.92 / 3.8, 0.92 * 7 / 9, 0.92};
inline constexpr double treeRateOfManyNodes = 0.92 * 120 / 128, patRate = 0.75;

/// Bytes a second of LL on 1, 2, and 4 or more nodes.
inline constexpr double lowLatencyAmpere[] = {87.7e9, 22.5e9, 19e9},
                        lowLatencyHopper[] = {141e9, 45e9, 35e9};

/// Peers that a rank exchanges data with at once in an all-to-all.
inline constexpr double peersAtOnce = 8;

} // namespace weft::cost::nccl

#endif // WEFT_LIB_COST_NCCLCONSTANTS_H
