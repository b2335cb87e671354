//===- PlanTables.cpp - What the entries of a plan share ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanTables.h"
#include "PlanTypes.h"

#include "weft/Schedule/ArenaPlanner.h"

using namespace mlir;
using namespace weft;

uint32_t PlanTables::groupOf(const sharding::AxisList &axes) {
  auto it = llvm::find(groups, axes);
  if (it == groups.end())
    it = groups.insert(groups.end(), axes);
  return it - groups.begin();
}

uint32_t PlanTables::kernelOf(LaunchOp launch) {
  std::vector<int64_t> inPlace(launch.getSetResults(0).size(), -1);
  if (launch.getInPlace())
    inPlace.assign(launch.getInPlace()->begin(), launch.getInPlace()->end());
  Attribute choice = DenseI64ArrayAttr::get(launch.getContext(), inPlace);
  auto [it, isNew] = kernelIndices.try_emplace(
      std::pair(Attribute(launch.getKernelAttr()), choice), kernels.size());
  if (isNew)
    kernels.push_back(
        {symbols.lookup<func::FuncOp>(launch.getKernel()), std::move(inPlace)});
  int64_t &maxBatch = kernels[it->second].maxBatch;
  maxBatch = std::max<int64_t>(maxBatch, launch.getBatch());
  return it->second;
}

uint64_t PlanTables::contentsOf(ElementsAttr elements) {
  auto [it, isNew] = contentOffsets.try_emplace(elements, constantData.size());
  if (isNew) {
    std::vector<uint8_t> bytes = toBytes(elements);
    constantData.insert(constantData.end(), bytes.begin(), bytes.end());
    constantData.resize(alignedBytes(constantData.size()));
  }
  return it->second;
}
