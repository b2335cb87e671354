//===- Properties.cpp - Exported: devices, versions and errors ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include <cstring>
#include <utility>

using namespace weft::emulator;

static void requireDevice(Device &device, int index) {
  require(index >= 0 && index < device.settings.devices, cudaErrorInvalidDevice,
          "there is no such device");
}

namespace {

struct ErrorText {
  cudaError_t code;
  const char *name, *text;
};

#define WEFT_ERROR(name, text) {name, #name, text}
constexpr ErrorText errorTexts[] = {
    WEFT_ERROR(cudaSuccess, "no error"),
    WEFT_ERROR(cudaErrorInvalidValue, "invalid argument"),
    WEFT_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    WEFT_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    WEFT_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    WEFT_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    WEFT_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    WEFT_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    WEFT_ERROR(cudaErrorNoKernelImageForDevice,
               "no kernel image is available for execution on the device"),
    WEFT_ERROR(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    WEFT_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    WEFT_ERROR(cudaErrorIllegalState,
               "the operation cannot be performed in the present state"),
    WEFT_ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    WEFT_ERROR(cudaErrorNotReady, "device not ready"),
    WEFT_ERROR(cudaErrorIllegalAddress,
               "an illegal memory access was encountered"),
    WEFT_ERROR(cudaErrorLaunchTimeout,
               "the launch timed out and was terminated"),
    WEFT_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    WEFT_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    WEFT_ERROR(cudaErrorStreamCaptureUnsupported,
               "operation not permitted when stream is capturing"),
    WEFT_ERROR(cudaErrorStreamCaptureInvalidated,
               "operation failed due to a previous error during capture"),
    WEFT_ERROR(cudaErrorStreamCaptureMerge,
               "operation would result in a merge of separate capture "
               "sequences"),
    WEFT_ERROR(cudaErrorStreamCaptureUnmatched,
               "capture was not ended in the same stream as it began"),
    WEFT_ERROR(cudaErrorStreamCaptureUnjoined,
               "capturing stream has unjoined work"),
    WEFT_ERROR(cudaErrorStreamCaptureIsolation,
               "dependency created on uncaptured work in another stream"),
    WEFT_ERROR(cudaErrorStreamCaptureImplicit,
               "operation would make the legacy stream depend on a capturing "
               "blocking stream"),
    WEFT_ERROR(cudaErrorCapturedEvent,
               "operation not permitted on an event last recorded in a "
               "capturing stream"),
    WEFT_ERROR(cudaErrorStreamCaptureWrongThread,
               "attempt to terminate a thread-local capture sequence from "
               "another thread"),
    WEFT_ERROR(cudaErrorECCUncorrectable,
               "uncorrectable ECC error encountered"),
    WEFT_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef WEFT_ERROR

const ErrorText &textOf(cudaError_t code) {
  for (const ErrorText &entry : errorTexts)
    if (entry.code == code)
      return entry;
  static constexpr ErrorText other = {cudaErrorUnknown, "cudaErrorUnknown",
                                      "unrecognized error code"};
  return other;
}

/// Of an H200.
constexpr std::pair<cudaDeviceAttr, int> attributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, 1024},
    {cudaDevAttrMaxBlockDimX, 1024},
    {cudaDevAttrMaxBlockDimY, 1024},
    {cudaDevAttrMaxBlockDimZ, 64},
    {cudaDevAttrMaxGridDimX, 0x7fffffff},
    {cudaDevAttrMaxGridDimY, 65535},
    {cudaDevAttrMaxGridDimZ, 65535},
    {cudaDevAttrMaxSharedMemoryPerBlock, 48 << 10},
    {cudaDevAttrWarpSize, 32},
    {cudaDevAttrMaxRegistersPerBlock, 65536},
    {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
    {cudaDevAttrMultiProcessorCount, 132},
    {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
    {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
    // There is no such cache: what is written to empty it would take most of
    // the time of a test.
    {cudaDevAttrL2CacheSize, 64 << 10},
    {cudaDevAttrGlobalMemoryBusWidth, 6144},
    {cudaDevAttrClockRate, 1980000},
    {cudaDevAttrMemoryClockRate, 3201000},
    {cudaDevAttrTotalConstantMemory, 64 << 10},
    {cudaDevAttrConcurrentKernels, 1},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrAsyncEngineCount, 3},
    {cudaDevAttrComputeMode, cudaComputeModeDefault},
    {cudaDevAttrPciBusId, 1},
    {cudaDevAttrPciDeviceId, 0},
    {cudaDevAttrPciDomainId, 0},
    {cudaDevAttrEccEnabled, 1},
};

int attribute(Device &device, cudaDeviceAttr name) {
  if (name == cudaDevAttrComputeCapabilityMajor)
    return device.settings.capability / 10;
  if (name == cudaDevAttrComputeCapabilityMinor)
    return device.settings.capability % 10;
  const int shared = static_cast<int>(device.settings.sharedOptInLimit());
  if (name == cudaDevAttrMaxSharedMemoryPerBlockOptin)
    return shared;
  // The system takes 1 KiB of each block.
  if (name == cudaDevAttrMaxSharedMemoryPerMultiprocessor)
    return shared + (1 << 10);
  for (auto [known, value] : attributes)
    if (known == name)
      return value;
  throw CudaError{cudaErrorInvalidValue,
                  "attribute " + std::to_string(name) + " is not known"};
}

} // namespace

extern "C" {

WEFT_EMULATOR_EXPORT cudaError_t cudaGetDeviceCount(int *count) {
  return call(__func__, [&](Device &device) {
    *count = device.settings.devices;
    require(*count > 0, cudaErrorNoDevice, "the environment says so");
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaSetDevice(int index) {
  return call(__func__, [&](Device &device) {
    requireDevice(device, index);
    currentDevice = index;
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaGetDevice(int *index) {
  return call(__func__, [&](Device &) { *index = currentDevice; });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaDeviceGetAttribute(int *value,
                                                        cudaDeviceAttr name,
                                                        int index) {
  return call(__func__, [&](Device &device) {
    requireDevice(device, index);
    *value = attribute(device, name);
  });
}

WEFT_EMULATOR_EXPORT cudaError_t
cudaGetDeviceProperties(cudaDeviceProp *properties, int index) {
  return call(__func__, [&](Device &device) {
    requireDevice(device, index);
    cudaDeviceProp &p = *properties;
    std::memset(&p, 0, sizeof p);
    std::strcpy(p.name, "Emulated H200");
    std::memset(p.uuid.bytes, 0xe0 + index, sizeof p.uuid.bytes);
    std::memcpy(p.uuid.bytes, &device.settings.uuid, sizeof(uint32_t));
    auto get = [&](cudaDeviceAttr name) { return attribute(device, name); };
    p.totalGlobalMem = device.settings.memoryBytes;
    p.sharedMemPerBlock = get(cudaDevAttrMaxSharedMemoryPerBlock);
    p.sharedMemPerBlockOptin = get(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    p.sharedMemPerMultiprocessor =
        get(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    p.regsPerBlock = get(cudaDevAttrMaxRegistersPerBlock);
    p.regsPerMultiprocessor = get(cudaDevAttrMaxRegistersPerMultiprocessor);
    p.warpSize = get(cudaDevAttrWarpSize);
    p.maxThreadsPerBlock = get(cudaDevAttrMaxThreadsPerBlock);
    p.maxThreadsPerMultiProcessor = get(cudaDevAttrMaxThreadsPerMultiProcessor);
    p.maxBlocksPerMultiProcessor = get(cudaDevAttrMaxBlocksPerMultiprocessor);
    p.maxThreadsDim[0] = get(cudaDevAttrMaxBlockDimX);
    p.maxThreadsDim[1] = get(cudaDevAttrMaxBlockDimY);
    p.maxThreadsDim[2] = get(cudaDevAttrMaxBlockDimZ);
    p.maxGridSize[0] = get(cudaDevAttrMaxGridDimX);
    p.maxGridSize[1] = get(cudaDevAttrMaxGridDimY);
    p.maxGridSize[2] = get(cudaDevAttrMaxGridDimZ);
    p.totalConstMem = get(cudaDevAttrTotalConstantMemory);
    p.major = get(cudaDevAttrComputeCapabilityMajor);
    p.minor = get(cudaDevAttrComputeCapabilityMinor);
    p.multiProcessorCount = get(cudaDevAttrMultiProcessorCount);
    p.l2CacheSize = get(cudaDevAttrL2CacheSize);
    p.memoryBusWidth = get(cudaDevAttrGlobalMemoryBusWidth);
    p.asyncEngineCount = get(cudaDevAttrAsyncEngineCount);
    p.concurrentKernels = p.unifiedAddressing = p.ECCEnabled = 1;
    p.pciBusID = get(cudaDevAttrPciBusId) + index;
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaDriverGetVersion(int *version) {
  return call(__func__, [&](Device &) { *version = CUDART_VERSION; });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaRuntimeGetVersion(int *version) {
  return call(__func__, [&](Device &) { *version = CUDART_VERSION; });
}

WEFT_EMULATOR_EXPORT const char *cudaGetErrorString(cudaError_t error) {
  return textOf(error).text;
}

WEFT_EMULATOR_EXPORT const char *cudaGetErrorName(cudaError_t error) {
  return textOf(error).name;
}

WEFT_EMULATOR_EXPORT cudaError_t cudaGetLastError() {
  // The error of the device stays.
  return std::exchange(lastError, Device::get().stickyError.load());
}

} // extern "C"
