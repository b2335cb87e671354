//===- NcclEnvironment.h - Variables that NCCL reads ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLENVIRONMENT_H
#define WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLENVIRONMENT_H

#include "launch/Agreement.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::runtime {

/// Sets what the runtime relies on, before the first call of NCCL: the order of
/// launches is that of the calls (N2), two threads that race are an error (N3),
/// and with `deterministic` one algorithm and protocol (N20). What the user has
/// set stays, but for these.
void setNcclEnvironment(bool deterministic);

/// The variables that change what NCCL computes or how ranks talk to each
/// other, as facts that all ranks must have alike.
std::vector<Fact> ncclEnvironmentFacts();

/// What of a machine and its limits is known to give NCCL trouble.
struct NcclMachine {
  bool isStackUnlimited = false;
  /// Bytes free in /dev/shm, and those that a process may lock; nothing where
  /// there is no limit.
  std::optional<uint64_t> sharedMemory;
  std::optional<uint64_t> lockedMemory;
  bool hasInfiniBand = false;

  static NcclMachine ofThisProcess();
};

/// For the user (N23, N24).
std::vector<std::string> ncclMachineWarnings(const NcclMachine &machine);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLENVIRONMENT_H
