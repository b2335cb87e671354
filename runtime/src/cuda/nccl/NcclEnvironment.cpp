//===- NcclEnvironment.cpp - Variables that NCCL reads ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/nccl/NcclEnvironment.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <cstdlib>
#include <filesystem>

namespace weft::runtime {

void setNcclEnvironment(bool deterministic) {
  ::setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*overwrite=*/1);
  ::setenv("NCCL_LAUNCH_RACE_FATAL", "1", /*overwrite=*/1);
  if (!deterministic)
    return;
  ::setenv("NCCL_NVLS_ENABLE", "0", /*overwrite=*/1);
  ::setenv("NCCL_COLLNET_ENABLE", "0", /*overwrite=*/1);
  ::setenv("NCCL_ALGO", "Ring", /*overwrite=*/1);
  // Never LL128 by hand (N21).
  ::setenv("NCCL_PROTO", "Simple", /*overwrite=*/1);
}

std::vector<Fact> ncclEnvironmentFacts() {
  std::vector<Fact> facts;
  for (const char *name :
       {"NCCL_LAUNCH_ORDER_IMPLICIT", "NCCL_ALGO", "NCCL_PROTO",
        "NCCL_NVLS_ENABLE", "NCCL_COLLNET_ENABLE", "NCCL_MIN_CTAS",
        "NCCL_MAX_CTAS", "NCCL_RUNTIME_CONNECT", "NCCL_CUMEM_ENABLE",
        "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE",
        "NCCL_NET"}) {
    const char *value = std::getenv(name);
    facts.push_back({fmt::format("the variable {}", name), value ? value : ""});
  }
  return facts;
}

NcclMachine NcclMachine::ofThisProcess() {
  NcclMachine machine;
  rlimit limit{};
  machine.isStackUnlimited =
      ::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
  struct statvfs shared{};
  if (::statvfs("/dev/shm", &shared) == 0)
    machine.sharedMemory = static_cast<uint64_t>(shared.f_bavail) *
                           static_cast<uint64_t>(shared.f_frsize);
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
      limit.rlim_cur != RLIM_INFINITY)
    machine.lockedMemory = limit.rlim_cur;
  std::error_code error;
  machine.hasInfiniBand =
      !std::filesystem::is_empty("/sys/class/infiniband", error) && !error;
  return machine;
}

std::vector<std::string> ncclMachineWarnings(const NcclMachine &machine) {
  std::vector<std::string> warnings;
  if (machine.isStackUnlimited)
    warnings.push_back("the stack of this process is unlimited (ulimit -s), "
                       "which gives the threads of NCCL stacks of 2 MB; "
                       "ulimit -s 8192 gives them 8 MB");
  constexpr uint64_t enoughShared = 128 << 20, enoughLocked = 1 << 30;
  if (machine.sharedMemory.value_or(enoughShared) < enoughShared)
    warnings.push_back(fmt::format(
        "/dev/shm has {} MB free; ranks of one host exchange data through it "
        "and may fail; start the container with --shm-size=1g",
        *machine.sharedMemory >> 20));
  if (machine.hasInfiniBand &&
      machine.lockedMemory.value_or(enoughLocked) < enoughLocked)
    warnings.push_back(fmt::format(
        "this process may lock {} MB of memory (ulimit -l); InfiniBand locks "
        "what it sends from and may fail; start the container with --ulimit "
        "memlock=-1",
        *machine.lockedMemory >> 20));
  return warnings;
}

} // namespace weft::runtime
