//===- DeviceWorld.cpp - Data exchange between devices ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/comm/DeviceWorld.h"

#include "cuda/platform/Handles.h"

namespace weft::runtime {

Result<ArenaMemory> DeviceWorld::allocateArena(const Cudart &cudart,
                                               size_t bytes) {
  WEFT_ASSIGN_OR_RETURN(DeviceMemory memory,
                        allocateDevice(cudart, bytes, "arena"));
  auto owner = std::make_shared<DeviceMemory>(std::move(memory));
  void *address = owner->get();
  return ArenaMemory(address, [owner](void *) mutable { owner.reset(); });
}

Status DeviceWorld::gather(const void *, void *, size_t, cudaStream_t) {
  return internalError("ranks of one process gather in its memory");
}

} // namespace weft::runtime
