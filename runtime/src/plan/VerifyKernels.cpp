//===- VerifyKernels.cpp - The compiled code of a plan ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a plan says of its kernels fits its target, and what its target can do:
// a grid that no GPU launches is found when the plan is read.
//
//===----------------------------------------------------------------------===//

#include "plan/ElfHeader.h"
#include "plan/PlanVerifier.h"
#include "plan/Text.h"

#include <cctype>
#include <limits>

namespace weft::runtime {

static bool isFor(const plan::Plan &plan, std::string_view kind) {
  return view(plan.target()->kind()) == kind;
}

static size_t objectBytes(const plan::Plan &plan) {
  return plan.object() ? plan.object()->size() : 0;
}

/// "sm_90", "sm_100a".
static bool isGpuProcessor(std::string_view name) {
  if (!name.starts_with("sm_"))
    return false;
  name.remove_prefix(3);
  size_t digits = 0;
  while (digits < name.size() && std::isdigit(name[digits]))
    ++digits;
  const std::string_view features = name.substr(digits);
  return (digits == 2 || digits == 3) &&
         (features.empty() || features == "a" || features == "f");
}

/// Whether the PTX defines an entry of that name.
static bool hasEntry(std::string_view ptx, std::string_view symbol) {
  const std::string wanted = fmt::format(".entry {}", symbol);
  for (size_t at = ptx.find(wanted); at != ptx.npos;
       at = ptx.find(wanted, at + 1)) {
    const size_t end = at + wanted.size();
    if (end == ptx.size() || ptx[end] == '(' || std::isspace(ptx[end]))
      return true;
  }
  return false;
}

/// Limits of every GPU from sm_80 on, but of what a launch adds to the shared
/// memory: that of the one that has most.
static Status verifyGrid(const plan::Grid &grid) {
  constexpr uint32_t maxThreads = 1024, maxShared = 48 * 1024;
  constexpr uint64_t maxSharedOfLaunch = 227 * 1024;
  constexpr uint32_t maxRegisters = 255, registersOfBlock = 64 * 1024;
  constexpr uint32_t maxBlocks = std::numeric_limits<int32_t>::max();
  if (grid.blocks() < 1 || grid.blocks() > maxBlocks)
    return invalidArgument(fmt::format("a grid of {} blocks, must be 1 to {}",
                                       grid.blocks(), maxBlocks));
  if (grid.threads() < 1 || grid.threads() > maxThreads)
    return invalidArgument(fmt::format("blocks of {} threads, must be 1 to {}",
                                       grid.threads(), maxThreads));
  if (grid.shared_bytes() > maxShared)
    return invalidArgument(
        fmt::format("blocks with {} bytes of shared memory, must be at most {}",
                    grid.shared_bytes(), maxShared));
  const uint64_t shared =
      uint64_t(grid.shared_bytes()) + grid.launch_shared_bytes();
  if (shared > maxSharedOfLaunch)
    return invalidArgument(
        fmt::format("blocks with {} bytes of shared memory, {} of them of the "
                    "launch, must be at most {}",
                    shared, grid.launch_shared_bytes(), maxSharedOfLaunch));
  if (grid.registers() > maxRegisters ||
      grid.registers() * grid.threads() > registersOfBlock)
    return invalidArgument(fmt::format(
        "{} threads of {} registers, must be at most {} for each and {} for a "
        "block",
        grid.threads(), grid.registers(), maxRegisters, registersOfBlock));
  if (grid.max_batch() < 1 || grid.max_batch() > maxLaunchBatch)
    return invalidArgument(
        fmt::format("batches of up to {} sets of arguments, must be 1 to {}",
                    grid.max_batch(), maxLaunchBatch));
  if (grid.max_batch() > 1 && grid.workspace_bytes() != 0)
    return invalidArgument(
        fmt::format("batches of up to {} sets of arguments, which would share "
                    "its workspace",
                    grid.max_batch()));
  return {};
}

static Status verifyCudaPlan(const plan::Plan &plan) {
  if (!isGpuProcessor(view(plan.target()->processor())))
    return invalidArgument(fmt::format(
        "the target's processor is \"{}\", must be like \"sm_90\" for \"cuda\"",
        escaped(view(plan.target()->processor()))));
  if (plan.kernels()->size() != 0 && view(plan.ptx()).empty())
    return invalidArgument(fmt::format(
        "the plan names {} kernels but has no PTX", plan.kernels()->size()));
  for (uint32_t i = 0; i < plan.kernels()->size(); ++i) {
    const plan::Kernel &kernel = *plan.kernels()->Get(i);
    const std::string what =
        fmt::format("kernel {} @{}", i, escaped(view(kernel.symbol())));
    if (!kernel.grid())
      return invalidArgument(what + " has no grid");
    WEFT_RETURN_IF_ERROR(verifyGrid(*kernel.grid()).withContext(what));
    if (!hasEntry(view(plan.ptx()), view(kernel.symbol())))
      return invalidArgument(what + " is not in the plan's PTX");
  }
  if (objectBytes(plan) == 0)
    return {};
  return checkCubinHeader({plan.object()->data(), objectBytes(plan)})
      .withContext("cubin");
}

/// A plan for any other target.
static Status verifyPlainPlan(const plan::Plan &plan) {
  if (plan.ptx())
    return invalidArgument("it has PTX, which only plans for \"cuda\" have");
  for (uint32_t i = 0; i < plan.kernels()->size(); ++i)
    if (plan.kernels()->Get(i)->grid())
      return invalidArgument(fmt::format(
          "kernel {} has a grid, which only plans for \"cuda\" have", i));
  const size_t bytes = objectBytes(plan);
  if (!isFor(plan, "none") && plan.kernels()->size() != 0 && bytes == 0)
    return invalidArgument(fmt::format(
        "the plan names {} kernels but has no object", plan.kernels()->size()));
  if (bytes == 0 || !isFor(plan, "cpu"))
    return {};
  return checkElfHeader({plan.object()->data(), bytes})
      .withContext("kernel object");
}

Status verifyKernels(const plan::Plan &plan) {
  for (uint32_t i = 0; i < plan.kernels()->size(); ++i) {
    const plan::Kernel &kernel = *plan.kernels()->Get(i);
    if (view(kernel.symbol()).empty())
      return invalidArgument(fmt::format("kernel {} has an empty symbol", i));
    if (kernel.max_parts() < 1)
      return invalidArgument(
          fmt::format("kernel {} may be computed in {} parts, need at least 1",
                      i, kernel.max_parts()));
  }
  return isFor(plan, "cuda") ? verifyCudaPlan(plan) : verifyPlainPlan(plan);
}

Status verifyParameters(const plan::Plan &plan, const plan::Launch &launch) {
  if (!isFor(plan, "cuda"))
    return {};
  const plan::Grid &grid = *plan.kernels()->Get(launch.kernel())->grid();
  if (launch.batch() > grid.max_batch())
    return invalidArgument(
        fmt::format("a batch of {} sets of arguments, the kernel takes {}",
                    launch.batch(), grid.max_batch()));
  const uint64_t addresses =
      uint64_t{launch.access()->size()} * grid.max_batch();
  const size_t positions = launch.positions() ? launch.positions()->size() : 0;
  const uint64_t bytes = sizeof(uint64_t) * (addresses + positions +
                                             (grid.workspace_bytes() != 0));
  // From version 8.1 of PTX on.
  constexpr uint64_t limit = 32764;
  if (bytes > limit)
    return invalidArgument(fmt::format(
        "the parameters take {} bytes, a GPU takes {}", bytes, limit));
  return {};
}

} // namespace weft::runtime
