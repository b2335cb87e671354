//===- Padding.cpp - Dimensions that their shards do not divide -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/Padding.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace weft;
using namespace weft::sharding;

int64_t sharding::paddedSize(int64_t size, int64_t shards) {
  return (size + shards - 1) / shards * shards;
}

bool sharding::isLocalShape(const Mesh &mesh, llvm::ArrayRef<int64_t> local,
                            llvm::ArrayRef<int64_t> global,
                            const Sharding &sharding) {
  if (local.size() != global.size() || sharding.dims.size() != global.size())
    return false;
  for (size_t dim = 0; dim < global.size(); ++dim) {
    int64_t shards = numShards(sharding.dims[dim].axes);
    int64_t padding = local[dim] * shards - global[dim];
    if (padding < 0 || padding >= (shards == 1 ? 1 : mesh.numDevices()))
      return false;
  }
  return true;
}

int32_t DimClasses::add(int64_t size) {
  int32_t number = dims.size();
  dims.push_back({number, size});
  return number;
}

int32_t DimClasses::root(int32_t dim) const {
  while (dims[dim].parent != dim)
    dim = dims[dim].parent = dims[dims[dim].parent].parent;
  return dim;
}

void DimClasses::split(int32_t dim, int64_t shards) {
  Dim &all = dims[root(dim)];
  all.shards = std::lcm(all.shards, shards);
  all.isUneven |= all.size % shards != 0;
}

void DimClasses::join(int32_t a, int32_t b) {
  // The lower number, so that chains stay short where ops come in order.
  auto [into, from] = std::minmax({root(a), root(b)});
  if (into == from)
    return;
  dims[from].parent = into;
  dims[into].shards = std::lcm(dims[into].shards, dims[from].shards);
  dims[into].isUneven |= dims[from].isUneven;
}

int64_t DimClasses::paddedSize(int32_t dim) const {
  const Dim &all = dims[root(dim)];
  return all.isUneven ? sharding::paddedSize(all.size, all.shards) : all.size;
}

llvm::SmallVector<bool, 4>
sharding::findWholeDimFactors(const ShardingRule &rule) {
  llvm::SmallVector<bool, 4> whole(rule.factors.size(), true);
  auto visit = [&](const TensorFactors &tensor) {
    for (const DimFactors &dim : tensor)
      if (dim.size() > 1)
        for (int32_t factor : dim)
          whole[factor] = false;
  };
  llvm::for_each(rule.operands, visit);
  llvm::for_each(rule.results, visit);
  return whole;
}
