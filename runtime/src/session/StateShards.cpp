//===- StateShards.cpp - Who has what of a state --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/StateShards.h"

#include "session/ShardCopy.h"

#include <algorithm>
#include <map>

namespace weft::runtime {

bool isUnreduced(const plan::TensorType &type) {
  return !axesOf(type.unreduced()).empty();
}

namespace {

/// The ranks and the processes that hold one shard.
struct Holders {
  std::vector<int64_t> localRanks;
  /// In order, each once.
  std::vector<int> processes;
};

} // namespace

StateShards shardsOf(const plan::TensorType &type, const Mesh &mesh,
                     int process, int processes,
                     const std::function<bool(int64_t)> &hasIt) {
  std::vector<plan::AxisRef> axes;
  for (const plan::AxisList *dim : *type.dim_axes())
    for (const plan::AxisRef &ref : axesOf(dim))
      axes.push_back(ref);
  std::map<int64_t, Holders> holders;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    const bool isWhole = isUnreduced(type);
    if (!isWhole && !hasIt(rank))
      continue;
    Holders &found = holders[isWhole ? 0 : mesh.position(rank, axes)];
    const int of = static_cast<int>(rank * processes / mesh.ranks());
    if (of == process)
      found.localRanks.push_back(rank);
    if (found.processes.empty() || found.processes.back() != of)
      found.processes.push_back(of);
  }
  StateShards shards;
  for (const auto &[position, found] : holders) {
    if (found.localRanks.empty())
      continue;
    const auto mine = std::ranges::find(found.processes, process);
    const auto &shape = *type.global_shape();
    shards.push_back({isUnreduced(type)
                          ? Box::whole({shape.data(), shape.size()})
                          : heldBox(type, mesh, found.localRanks.front()),
                      found.localRanks,
                      {static_cast<int>(mine - found.processes.begin()),
                       static_cast<int>(found.processes.size())}});
  }
  return shards;
}

} // namespace weft::runtime
