//===- MemoryNeeds.cpp - What a rank allocates on its device ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/rank/MemoryNeeds.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace weft::runtime {

uint64_t kernelWorkspaceBytes(const plan::Plan &plan) {
  uint64_t bytes = 0;
  for (const plan::Kernel *kernel : *plan.kernels())
    bytes = std::max<uint64_t>(bytes, kernel->grid()->workspace_bytes());
  return bytes;
}

std::vector<MemoryNeed> needsOfPlan(const plan::Plan &plan,
                                    uint64_t arenaBytes) {
  return {{"arena", arenaBytes},
          {"workspace of kernels", kernelWorkspaceBytes(plan)}};
}

Status checkMemory(const CudaDevice &device,
                   const std::vector<MemoryNeed> &needs, size_t ranks,
                   uint64_t available) {
  unsigned __int128 each = 0;
  std::vector<std::string> parts;
  for (const MemoryNeed &need : needs) {
    each += need.bytes;
    if (need.bytes != 0)
      parts.push_back(fmt::format("{} {}", need.what, need.bytes));
  }
  if (each * ranks <= available)
    return {};
  return resourceExhausted(fmt::format(
      "{} rank{} on device {} ({}) need{} {} bytes{}: {}; {} bytes are "
      "available; compile for a larger mesh, or shrink the batch",
      ranks, ranks == 1 ? "" : "s", device.number, device.name,
      ranks == 1 ? "s" : "", each * ranks,
      ranks == 1 ? "" : fmt::format(", {} each", each), fmt::join(parts, ", "),
      available));
}

} // namespace weft::runtime
