//===- Kernels.cpp - Exported: libraries of kernels, and launches ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "ptx/Grid.h"
#include "ptx/Parser.h"
#include "ptx/Translator.h"

#include <cstdio>
#include <cstring>

using namespace weft::emulator;

namespace {

constexpr uint32_t sharedLimit = 48 << 10;

/// Allocates and fills the variables of a module.
SymbolAddresses placeVariables(Device &device, const Module &module,
                               CUlib_st &library) {
  SymbolAddresses addresses;
  for (const Variable &variable : module.variables) {
    if (variable.space == Space::Shared || variable.size == 0)
      continue;
    void *memory = device.memory.allocate(currentDevice, variable.size,
                                          variable.space != Space::Constant);
    require(memory, cudaErrorMemoryAllocation, "out of memory");
    std::memset(memory, 0, variable.size);
    library.variables.push_back(memory);
    addresses[variable.name] = reinterpret_cast<uint64_t>(memory);
  }
  for (const Variable &variable : module.variables) {
    size_t element = sizeOf(variable.type);
    for (size_t i = 0; i < variable.initial.size(); ++i) {
      const Initial &initial = variable.initial[i];
      uint64_t bits = initial.bits;
      if (!initial.symbol.empty()) {
        if (!addresses.contains(initial.symbol))
          throw PtxError(variable.line,
                         "unknown name '" + initial.symbol + "'");
        bits += addresses[initial.symbol];
      }
      if ((i + 1) * element > variable.size)
        throw PtxError(variable.line,
                       "more elements than '" + variable.name + "' has");
      std::memcpy(reinterpret_cast<std::byte *>(addresses[variable.name]) +
                      i * element,
                  &bits, element);
    }
  }
  return addresses;
}

/// "sm_90a" is for that processor only, "sm_80" for all from it on.
void requireTarget(const std::string &target, int capability) {
  int needed = std::atoi(target.c_str() + target.find('_') + 1);
  bool exact = target.ends_with('a');
  require(exact ? needed == capability : needed <= capability,
          cudaErrorNoKernelImageForDevice,
          "the PTX is for another processor than the device is");
}

void freeVariables(Device &device, CUlib_st &library) {
  for (void *variable : library.variables) {
    std::string damage;
    device.memory.free(variable, /*isHost=*/false, damage);
    if (!damage.empty())
      device.report(damage);
  }
}

/// A launch with its own copy of the parameters.
struct KernelWork {
  const Program *program;
  Extent grid, block;
  uint32_t dynamicShared;
  int device;
  std::vector<std::byte> parameters;

  void operator()() const {
    Device &state = Device::get();
    auto memory = state.memory.view(device);
    Launch launch;
    launch.program = program;
    launch.grid = grid;
    launch.block = block;
    launch.dynamicShared = dynamicShared;
    launch.parameters = parameters.data();
    launch.memory = memory.get();
    RunOptions options;
    options.seed = state.settings.seed * 1000003 + ++state.launches;
    options.hostThreads = state.settings.hostThreads;
    options.findRaces = state.settings.findRaces;
    options.findUninitialized = state.settings.findUninitialized;
    LaunchTraffic traffic;
    if (state.settings.countTraffic)
      options.traffic = &traffic;
    state.executed += run(launch, options);
    if (state.settings.countTraffic)
      print(traffic);
  }

  void print(const LaunchTraffic &traffic) const {
    std::fprintf(stderr, "traffic of '%s': reads %s; writes %s\n",
                 program->name.c_str(), describe(traffic.reads).c_str(),
                 describe(traffic.writes).c_str());
  }
};

void checkShape(const CUkern_st &kernel, dim3 grid, dim3 block, size_t shared) {
  uint64_t threads = uint64_t(block.x) * block.y * block.z;
  require(grid.x && grid.y && grid.z && threads, cudaErrorInvalidConfiguration,
          "a launch without blocks or threads");
  require(grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535 &&
              threads <= 1024 && block.z <= 64,
          cudaErrorInvalidConfiguration,
          "more blocks or threads than a device has");
  require(kernel.program.sharedBytes + shared <=
              std::max(sharedLimit,
                       kernel.program.sharedBytes + kernel.dynamicSharedLimit),
          cudaErrorInvalidValue, "more shared memory than the kernel may have");
}

} // namespace

extern "C" {

WEFT_EMULATOR_EXPORT cudaError_t cudaLibraryLoadData(
    cudaLibrary_t *library, const void *code, cudaJitOption *, void **,
    unsigned int, cudaLibraryOption *, void **, unsigned int) {
  return call(__func__, [&](Device &device) {
    {
      std::lock_guard lock(device.mutex);
      device.forbidInCapture("cudaLibraryLoadData");
    }
    auto text = static_cast<const char *>(code);
    const bool isElf = std::memcmp(text,
                                   "\x7f"
                                   "ELF",
                                   4) == 0;
    require(!isElf || reinterpret_cast<uintptr_t>(code) % 8 == 0,
            cudaErrorInvalidValue, "machine code is not aligned to 8 bytes");
    require(!isElf, cudaErrorNoKernelImageForDevice,
            "the emulator executes PTX, not machine code");
    auto result = std::make_unique<CUlib_st>();
    try {
      Module module = parseModule(text);
      requireTarget(module.target, device.settings.capability);
      SymbolAddresses addresses = placeVariables(device, module, *result);
      for (const auto &[name, function] : module.functions) {
        if (!function.isEntry)
          continue;
        CUkern_st &kernel = result->kernels[name];
        kernel.program = translate(module, function, addresses);
        require(kernel.program.sharedBytes <= sharedLimit, cudaErrorInvalidPtx,
                "a kernel has more static shared memory than 48 KiB");
      }
    } catch (const PtxError &error) {
      freeVariables(device, *result);
      throw CudaError{cudaErrorInvalidPtx, error.what()};
    }
    std::lock_guard lock(device.mutex);
    for (const auto &[name, kernel] : result->kernels)
      device.kernels.insert(&kernel);
    device.libraries.insert(*library = result.release());
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return call(__func__, [&](Device &device) {
    device.scheduler.waitForAll();
    std::lock_guard lock(device.mutex);
    require(device.libraries.erase(library) == 1,
            cudaErrorInvalidResourceHandle, "there is no such library");
    for (const auto &[name, kernel] : library->kernels)
      device.kernels.erase(&kernel);
    freeVariables(device, *library);
    delete library;
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel,
                                                      cudaLibrary_t library,
                                                      const char *name) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    require(device.libraries.contains(library), cudaErrorInvalidResourceHandle,
            "there is no such library");
    auto found = library->kernels.find(name);
    require(found != library->kernels.end(), cudaErrorSymbolNotFound,
            "the library has no such kernel");
    *kernel = &found->second;
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaFuncSetAttribute(const void *function,
                                                      cudaFuncAttribute name,
                                                      int value) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    require(device.kernels.contains(function), cudaErrorInvalidDeviceFunction,
            "there is no such kernel");
    auto kernel = static_cast<CUkern_st *>(const_cast<void *>(function));
    if (name == cudaFuncAttributePreferredSharedMemoryCarveout)
      return;
    require(name == cudaFuncAttributeMaxDynamicSharedMemorySize && value >= 0 &&
                kernel->program.sharedBytes + value <=
                    device.settings.sharedOptInLimit(),
            cudaErrorInvalidValue, "an attribute or value that is not known");
    kernel->dynamicSharedLimit = value;
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaLaunchKernel(const void *function,
                                                  dim3 grid, dim3 block,
                                                  void **arguments,
                                                  size_t shared,
                                                  cudaStream_t stream) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    require(device.kernels.contains(function), cudaErrorInvalidDeviceFunction,
            "there is no such kernel");
    const auto &kernel = *static_cast<const CUkern_st *>(function);
    checkShape(kernel, grid, block, shared);
    CUstream_st &target = device.stream(stream);
    const Program &program = kernel.program;
    KernelWork work{&program,
                    {grid.x, grid.y, grid.z},
                    {block.x, block.y, block.z},
                    static_cast<uint32_t>(shared),
                    target.device,
                    std::vector<std::byte>(program.parameterBytes)};
    for (size_t i = 0; i < program.parameters.size(); ++i) {
      auto [offset, bytes] = program.parameters[i];
      std::memcpy(work.parameters.data() + offset, arguments[i], bytes);
    }
    device.enqueue(target, program.name, std::move(work));
  });
}

} // extern "C"
