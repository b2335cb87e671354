//===- Grid.h - Launches of kernels -----------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_GRID_H
#define WEFT_EMULATOR_PTX_GRID_H

#include "AddressSpace.h"
#include "Program.h"
#include "Traffic.h"

#include <cstddef>
#include <cstdint>

namespace weft::emulator {

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
  uint32_t operator[](uint32_t axis) const {
    return axis == 0 ? x : axis == 1 ? y : z;
  }
  /// The coordinates of element `index`, x fastest.
  Extent at(uint32_t index) const {
    return {index % x, index / x % y, index / x / y};
  }
};

struct Launch {
  const Program *program = nullptr;
  Extent grid, block;
  uint32_t dynamicShared = 0;
  /// program->parameterBytes bytes.
  const std::byte *parameters = nullptr;
  const AddressSpace *memory = nullptr;
  /// Operations that a block may execute; more is taken for a loop without
  /// end.
  uint64_t operationLimit = uint64_t(1) << 32;
};

struct RunOptions {
  /// Decides the order of blocks and warps.
  uint64_t seed = 0;
  /// Threads of the host that blocks run on; one where anything is checked.
  uint32_t hostThreads = 1;
  /// Reports accesses of two threads that nothing orders.
  bool findRaces = false;
  /// Reports reads of shared memory that nobody has written.
  bool findUninitialized = false;
  /// Gets what the launch moves, unless null.
  LaunchTraffic *traffic = nullptr;
};

/// Runs all blocks. Returns the number of operations that threads executed.
/// Throws Fault.
uint64_t run(const Launch &launch, const RunOptions &options);

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_GRID_H
