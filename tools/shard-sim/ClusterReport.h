//===- ClusterReport.h - What a cluster is and how fast ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows that `shard-sim cluster` prints.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_SIM_CLUSTERREPORT_H
#define WEFT_TOOLS_SHARD_SIM_CLUSTERREPORT_H

#include "weft/Cost/CostModel.h"

#include <optional>
#include <string>
#include <vector>

namespace weft::tools {

struct GemmRow {
  cost::Gemm gemm;
  double seconds = 0;
  /// Over the peak of the precision that the device multiplies in.
  double share = 0;
};

struct CollectiveRow {
  cost::CollectiveCall call;
  cost::CollectiveTime time;
  /// As nccl-tests counts it.
  double busBytesPerSecond = 0;
};

struct ClusterReport {
  cost::Cluster cluster;
  double usableBytes = 0;
  std::vector<GemmRow> gemms;
  std::vector<CollectiveRow> collectives;
  /// Whether the machine is described before the rows.
  bool describes = true;
};

GemmRow price(const cost::CostModel &model, const cost::Gemm &gemm);
CollectiveRow price(const cost::CostModel &model,
                    const cost::CollectiveCall &call);

/// The usual collectives on 8, 64 and 1024 ranks (as far as there are so many
/// devices) and some matmuls.
ClusterReport usualReport(const cost::CostModel &model);

std::string printText(const ClusterReport &report);
std::string printJson(const ClusterReport &report);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_SIM_CLUSTERREPORT_H
