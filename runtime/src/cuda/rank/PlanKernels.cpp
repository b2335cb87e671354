//===- PlanKernels.cpp - The compiled kernels of a plan ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/rank/PlanKernels.h"

#include "plan/Text.h"

#include <cstring>

namespace weft::runtime {

/// What helps when the cubin does not load. A device takes those for itself and
/// for smaller minor versions; if its driver does not, ptxas is newer.
static std::string remedyOfCubin(const plan::Plan &plan,
                                 const CudaDevice &device) {
  const int wanted = planProcessor(plan), found = device.processor;
  if (wanted / 10 == found / 10)
    return fmt::format("a newer driver than this one, for CUDA {}, may take "
                       "it, and --ptxas=none compiles a plan without one",
                       cudaVersion(device.driver));
  return fmt::format("--target=cuda:sm_{} compiles one that does", found);
}

static Result<KernelModule>
loadCode(const Cudart &cudart, const plan::Plan &plan, const CudaDevice &device,
         const std::function<void(const std::string &)> &note) {
  Status ofCubin = notFound("the plan has none");
  const bool hasCubin = plan.object() && plan.object()->size() != 0;
  if (hasCubin) {
    // An ELF file has words of 8 bytes, a plan's bytes begin anywhere.
    std::vector<uint64_t> aligned((plan.object()->size() + 7) / 8);
    std::memcpy(aligned.data(), plan.object()->data(), plan.object()->size());
    Result<KernelModule> module = KernelModule::load(cudart, aligned.data());
    if (module.ok())
      return module;
    ofCubin = module.status();
  }
  Status ofPtx = notFound("the plan has none");
  if (plan.ptx()) {
    Result<KernelModule> module =
        KernelModule::load(cudart, plan.ptx()->data());
    if (module.ok() && hasCubin)
      note(fmt::format("the driver compiled the plan's PTX for device {} ({}, "
                       "sm_{}), because the cubin for {} does not load there: "
                       "{}; {}",
                       device.number, device.name, device.processor,
                       escaped(view(plan.target()->processor())),
                       ofCubin.message(), remedyOfCubin(plan, device)));
    if (module.ok())
      return module;
    ofPtx = module.status();
  }
  return failedPrecondition(fmt::format(
      "device {} ({}, sm_{}, driver for CUDA {}) can load neither the plan's "
      "cubin for {} ({}) nor its PTX ({}); update the driver, or compile the "
      "plan with an older ptxas",
      device.number, device.name, device.processor, cudaVersion(device.driver),
      escaped(view(plan.target()->processor())), ofCubin.message(),
      ofPtx.message()));
}

/// More than 48 KiB of shared memory must be asked for, and a processor that
/// gives all of it to blocks has room for two of them.
static Status allowShared(const Cudart &cudart, cudaKernel_t kernel,
                          const std::string &symbol, const plan::Grid &grid) {
  const int bytes = static_cast<int>(grid.launch_shared_bytes());
  if (bytes == 0)
    return {};
  for (const auto &[attribute, value] :
       {std::pair(cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        std::pair(cudaFuncAttributePreferredSharedMemoryCarveout,
                  static_cast<int>(cudaSharedmemCarveoutMaxShared))})
    WEFT_RETURN_IF_ERROR(cudaStatus(
        cudart,
        cudart.funcSetAttribute(reinterpret_cast<const void *>(kernel),
                                attribute, value),
        fmt::format("cudaFuncSetAttribute of \"{}\", for {} bytes of shared "
                    "memory",
                    symbol, bytes)));
  return {};
}

Result<PlanKernels>
PlanKernels::load(const Cudart &cudart, const plan::Plan &plan,
                  const CudaDevice &device,
                  const std::function<void(const std::string &)> &note) {
  PlanKernels loaded;
  if (plan.kernels()->size() == 0)
    return loaded;
  WEFT_ASSIGN_OR_RETURN(KernelModule module,
                        loadCode(cudart, plan, device, note));
  loaded.module.emplace(std::move(module));
  for (const plan::Kernel *kernel : *plan.kernels()) {
    Result<cudaKernel_t> found = loaded.module->kernel(kernel->symbol()->str());
    if (!found.ok())
      return failedPrecondition(fmt::format(
          "the plan's code does not define kernel \"{}\": {}",
          escaped(view(kernel->symbol())), found.status().message()));
    WEFT_RETURN_IF_ERROR(
        allowShared(cudart, *found, kernel->symbol()->str(), *kernel->grid()));
    loaded.kernels.push_back(*found);
  }
  return loaded;
}

} // namespace weft::runtime
