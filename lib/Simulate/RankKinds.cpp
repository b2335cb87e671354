//===- RankKinds.cpp - Ranks of a role that lie differently ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Groups.h"

#include "weft/Cost/GroupsOnDevices.h"
#include "weft/Simulate/Prediction.h"

using namespace weft;
using namespace weft::simulate;

static RankRow makeRow(const Prediction &prediction, const RankKind &kind,
                       int64_t device) {
  return {kind.rank,
          device,
          kind.ranks,
          prediction.step,
          prediction.communication().exposed,
          prediction.placements};
}

std::vector<RankRow> simulate::predictRanks(const plan::Plan &plan,
                                            const plan::Entry &entry,
                                            const cost::CostModel &cost,
                                            int64_t most) {
  std::vector<cost::MeshAxis> mesh;
  for (const plan::MeshAxis *axis : *plan.mesh())
    mesh.push_back({axis->name()->str(), axis->size()});
  std::vector<int64_t> devices = devicesOf(plan, mesh);
  if (devices.empty())
    devices = cost::listDevices(cost.cluster(), mesh);
  std::vector<RankRow> rows;
  for (const RankKind &kind :
       Groups(plan, cost.cluster(), mesh, devices).rankKinds()) {
    if (static_cast<int64_t>(rows.size()) == most)
      break;
    PredictionOptions options;
    options.rank = kind.rank;
    rows.push_back(
        makeRow(predict(plan, entry, cost, options), kind, devices[kind.rank]));
  }
  return rows;
}
