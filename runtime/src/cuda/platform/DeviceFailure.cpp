//===- DeviceFailure.cpp - Devices that are lost ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/platform/DeviceFailure.h"

#include <fmt/format.h>

namespace weft::runtime {
namespace {

enum class Fault { None, Kernel, Device };

} // namespace

static Fault faultOf(cudaError_t error) {
  switch (error) {
  case cudaErrorLaunchTimeout:
  case cudaErrorIllegalAddress:
  case cudaErrorAssert:
  case cudaErrorHardwareStackError:
  case cudaErrorIllegalInstruction:
  case cudaErrorMisalignedAddress:
  case cudaErrorInvalidAddressSpace:
  case cudaErrorInvalidPc:
  case cudaErrorLaunchFailure:
    return Fault::Kernel;
  case cudaErrorECCUncorrectable:
  case cudaErrorNvlinkUncorrectable:
  case cudaErrorDevicesUnavailable:
  case cudaErrorContained:
  case cudaErrorExternalDevice:
  case cudaErrorContextIsDestroyed:
  case cudaErrorMpsClientTerminated:
  case cudaErrorUnknown:
    return Fault::Device;
  default:
    return Fault::None;
  }
}

bool isDeviceFailure(cudaError_t error) {
  return faultOf(error) != Fault::None;
}

Status deviceFailure(const Cudart &cudart, cudaError_t error,
                     std::string_view where) {
  const std::string_view remedy =
      faultOf(error) == Fault::Kernel
          ? "a kernel has gone wrong: compute-sanitizer names it, and so does "
            "--no-cuda-graphs with CUDA_LAUNCH_BLOCKING=1; try a smaller batch "
            "if it does not happen there"
          : "the device is lost to this process: dmesg shows its Xid and "
            "nvidia-smi -q what it remembers of memory errors; start again "
            "from the last checkpoint, and without this device if it fails "
            "again";
  return unavailable(fmt::format("the device has failed {}: {} ({}); {}", where,
                                 cudart.getErrorString(error),
                                 cudart.getErrorName(error), remedy));
}

std::string_view remedyAtStart(cudaError_t error) {
  switch (error) {
  case cudaErrorSystemNotReady:
    return "; on machines with NVSwitch the fabric manager of the driver's "
           "version must run: systemctl start nvidia-fabricmanager";
  case cudaErrorSystemDriverMismatch:
    return "; the driver's kernel module and its libraries are of different "
           "versions: restart the machine, or mount the libraries of the host "
           "into the container";
  case cudaErrorDevicesUnavailable:
    return "; another process may hold the device alone: nvidia-smi shows its "
           "processes and its compute mode";
  default:
    return "";
  }
}

} // namespace weft::runtime
