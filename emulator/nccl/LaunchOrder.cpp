//===- LaunchOrder.cpp - How the fake NCCL uses streams ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchOrder.h"

#include "FakeNccl.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

namespace fake_nccl {
namespace {

FakeNcclDevice replaced;
bool isReplaced = false;

/// What is used of the libcudart.so.13 in WEFT_CUDA_LIBRARIES.
struct Cuda {
  Cuda() {
    const char *folders = std::getenv("WEFT_CUDA_LIBRARIES");
    std::istringstream list(folders ? folders : "");
    void *handle = nullptr;
    for (std::string folder; !handle && std::getline(list, folder, ':');)
      handle = ::dlopen((folder + "/libcudart.so.13").c_str(),
                        RTLD_NOW | RTLD_NOLOAD);
    const auto find = [handle](auto &function, const char *name) {
      function = handle ? reinterpret_cast<std::decay_t<decltype(function)>>(
                              ::dlsym(handle, name))
                        : nullptr;
    };
    find(launchHostFunc, "cudaLaunchHostFunc");
    find(eventCreate, "cudaEventCreateWithFlags");
    find(eventRecord, "cudaEventRecord");
    find(streamWaitEvent, "cudaStreamWaitEvent");
    find(captureInfo, "cudaStreamGetCaptureInfo");
    find(malloc, "cudaMalloc");
    find(free, "cudaFree");
    find(hold, "weftEmulatorHold");
    if (eventCreate)
      eventCreate(&last, cudaEventDisableTiming);
  }

  decltype(&cudaLaunchHostFunc) launchHostFunc = nullptr;
  decltype(&cudaEventCreateWithFlags) eventCreate = nullptr;
  decltype(&cudaEventRecord) eventRecord = nullptr;
  decltype(&cudaStreamWaitEvent) streamWaitEvent = nullptr;
  decltype(&cudaStreamGetCaptureInfo) captureInfo = nullptr;
  cudaError_t (*malloc)(void **, size_t) = nullptr;
  decltype(&cudaFree) free = nullptr;
  cudaError_t (*hold)(cudaStream_t, void *, void (*)(void *)) = nullptr;
  /// Behind the last beginning, and the capture that it is in, or 0.
  cudaEvent_t last = nullptr;
  unsigned long long captureOfLast = 0;
};

Cuda &cuda() {
  static Cuda only;
  return only;
}

/// 0 outside of a capture.
unsigned long long captureOf(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long number = 0;
  if (cuda().captureInfo)
    cuda().captureInfo(stream, &status, &number, nullptr, nullptr, nullptr,
                       nullptr);
  return status == cudaStreamCaptureStatusNone ? 0 : number;
}

} // namespace

bool isCapturing(cudaStream_t stream) {
  return isReplaced ? replaced.isCapturing(stream) : captureOf(stream) != 0;
}

void launch(cudaStream_t stream, void (*begin)(void *), void (*end)(void *),
            void *argument) {
  if (isReplaced) {
    replaced.launch(stream, begin, argument);
    return replaced.launch(stream, end, argument);
  }
  Cuda &device = cuda();
  const unsigned long long capture = captureOf(stream);
  const bool isDone =
      device.launchHostFunc &&
      (capture != device.captureOfLast ||
       device.streamWaitEvent(stream, device.last, 0) == cudaSuccess) &&
      device.launchHostFunc(stream, begin, argument) == cudaSuccess &&
      device.eventRecord(device.last, stream) == cudaSuccess &&
      device.launchHostFunc(stream, end, argument) == cudaSuccess;
  device.captureOfLast = capture;
  if (!isDone)
    std::fprintf(stderr, "fake nccl: cannot put an operation on the stream\n");
}

void holdInGraph(cudaStream_t stream, void *object, void (*release)(void *)) {
  if (isReplaced)
    return replaced.hold(stream, object, release);
  if (cuda().hold)
    cuda().hold(stream, object, release);
}

bool allocate(void **memory, size_t bytes) {
  if (isReplaced)
    return (*memory = replaced.allocate(bytes)) != nullptr;
  return cuda().malloc && cuda().malloc(memory, bytes) == cudaSuccess;
}

void release(void *memory) {
  if (isReplaced)
    replaced.release(memory);
  else if (cuda().free)
    cuda().free(memory);
}

} // namespace fake_nccl

extern "C" void weftFakeNcclSetDevice(const FakeNcclDevice *device) {
  fake_nccl::replaced = *device;
  fake_nccl::isReplaced = true;
}
