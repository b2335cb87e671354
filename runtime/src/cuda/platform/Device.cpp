//===- Device.cpp - The GPU of a plan ---------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/platform/Device.h"

#include "cuda/platform/DeviceFailure.h"
#include "plan/Text.h"

#include <charconv>

namespace weft::runtime {

std::string cudaVersion(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// Whether the driver is there and new enough for the library.
static Result<int> driverVersion(const Cudart &cudart) {
  int driver = 0, runtime = 0;
  WEFT_RETURN_IF_ERROR(cudaStatus(cudart, cudart.driverGetVersion(&driver),
                                  "cudaDriverGetVersion"));
  WEFT_RETURN_IF_ERROR(cudaStatus(cudart, cudart.runtimeGetVersion(&runtime),
                                  "cudaRuntimeGetVersion"));
  if (driver == 0)
    return unavailable(
        "the plan is for a GPU, but this machine has no NVIDIA driver; run it "
        "where there is one, or compile the plan with --target=cpu");
  if (driver / 1000 < runtime / 1000)
    return unavailable(fmt::format(
        "the NVIDIA driver supports CUDA {}, but libcudart is of CUDA {}; "
        "update the driver",
        cudaVersion(driver), cudaVersion(runtime)));
  return driver;
}

/// As nvidia-smi -L shows it.
static std::string uuidText(const cudaUUID_t &uuid) {
  std::string text = "GPU";
  for (size_t i = 0; i < sizeof uuid.bytes; ++i)
    text += fmt::format("{}{:02x}",
                        i == 0 || (i >= 4 && i <= 10 && i % 2 == 0) ? "-" : "",
                        static_cast<unsigned char>(uuid.bytes[i]));
  return text;
}

Result<CudaDevice> openDevice(const Cudart &cudart, int number) {
  CudaDevice device;
  device.number = number;
  WEFT_ASSIGN_OR_RETURN(device.driver, driverVersion(cudart));
  int count = 0;
  const cudaError_t error = cudart.getDeviceCount(&count);
  const auto started = [&](cudaError_t failed, std::string_view call) {
    const Status status = cudaStatus(cudart, failed, call);
    return status.ok()
               ? status
               : Status(status.code(),
                        status.message() + std::string(remedyAtStart(failed)));
  };
  if (error != cudaErrorNoDevice)
    WEFT_RETURN_IF_ERROR(started(error, "cudaGetDeviceCount"));
  if (count == 0)
    return unavailable("the plan is for a GPU, but the driver finds none; "
                       "CUDA_VISIBLE_DEVICES may hide them");
  if (number < 0 || number >= count)
    return invalidArgument(
        fmt::format("device {} is not one of the {} devices that the driver "
                    "shows, 0 to {}",
                    number, count, count - 1));
  WEFT_RETURN_IF_ERROR(started(cudart.setDevice(number), "cudaSetDevice"));
  cudaDeviceProp properties = {};
  WEFT_RETURN_IF_ERROR(
      cudaStatus(cudart, cudart.getDeviceProperties(&properties, number),
                 "cudaGetDeviceProperties"));
  device.name = properties.name;
  device.uuid = uuidText(properties.uuid);
  device.processor = properties.major * 10 + properties.minor;
  device.sharedBytes = properties.sharedMemPerBlockOptin;
  return device;
}

static std::string_view processorName(const plan::Plan &plan) {
  return view(plan.target()->processor());
}

int planProcessor(const plan::Plan &plan) {
  const std::string_view name = processorName(plan);
  int number = 0;
  std::from_chars(name.data() + 3, name.data() + name.size(), number);
  return number;
}

/// Code that names features of one processor ("sm_90a") runs on no other.
static bool isForOneProcessor(const plan::Plan &plan) {
  const char last = processorName(plan).back();
  return last < '0' || last > '9';
}

Status checkProcessor(const plan::Plan &plan, const CudaDevice &device) {
  const int wanted = planProcessor(plan), found = device.processor;
  const bool runsCubin = wanted / 10 == found / 10 && found >= wanted;
  const bool runsPtx = plan.ptx() && found >= wanted;
  if (isForOneProcessor(plan) ? wanted == found : runsCubin || runsPtx)
    return {};
  return failedPrecondition(fmt::format(
      "the plan is for {}, but device {} ({}) is sm_{}; compile it with "
      "--target=cuda:sm_{}",
      escaped(processorName(plan)), device.number, device.name, found, found));
}

static uint64_t sharedBytesOf(const plan::Kernel &kernel) {
  return uint64_t{kernel.grid()->shared_bytes()} +
         kernel.grid()->launch_shared_bytes();
}

Status checkSharedMemory(const plan::Plan &plan, const CudaDevice &device) {
  const plan::Kernel *most = nullptr;
  for (const plan::Kernel *kernel : *plan.kernels())
    if (!most || sharedBytesOf(*kernel) > sharedBytesOf(*most))
      most = kernel;
  if (!most || sharedBytesOf(*most) <= device.sharedBytes)
    return {};
  // Of the processors that the compiler knows it has the least, two blocks of
  // its kernels find room there, and their PTX runs on all later ones.
  constexpr int least = 80;
  return failedPrecondition(fmt::format(
      "kernel @{} of the plan for {} needs {} bytes of shared memory for a "
      "block, but device {} ({}, sm_{}) has {}{}",
      escaped(view(most->symbol())), escaped(processorName(plan)),
      sharedBytesOf(*most), device.number, device.name, device.processor,
      device.sharedBytes,
      planProcessor(plan) == least
          ? ""
          : fmt::format("; compile it with --target=cuda:sm_{}, whose kernels "
                        "need less",
                        least)));
}

} // namespace weft::runtime
