//===- Device.h - The state of the process ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_CUDART_DEVICE_H
#define WEFT_EMULATOR_CUDART_DEVICE_H

#include "DeviceMemory.h"
#include "Emulator.h"
#include "Objects.h"
#include "Settings.h"
#include "ptx/Error.h"

#include <atomic>

namespace weft::emulator {

/// An error that an exported function returns; `what` says why.
struct CudaError {
  cudaError_t code;
  std::string what;
};

class Device {
public:
  static Device &get();

  const Settings settings = Settings::fromEnvironment();
  DeviceMemory memory;
  Scheduler scheduler;

  /// Guards everything below.
  std::mutex mutex;
  std::set<cudaStream_t> streams;
  std::set<cudaEvent_t> events;
  std::set<cudaGraph_t> graphs;
  std::set<cudaGraphExec_t> executables;
  std::set<cudaLibrary_t> libraries;
  std::set<const void *> kernels;
  std::set<std::shared_ptr<Capture>> captures;

  /// The stream of a handle; throws CudaError. Null is the legacy stream.
  CUstream_st &stream(cudaStream_t handle);
  CUevent_st &event(cudaEvent_t handle);

  /// Adds work to a stream or its capture. The mutex is held.
  WorkPointer enqueue(CUstream_st &stream, std::string label,
                      std::function<void()> run);
  /// Throws if a capture forbids what `call` does to other streams; the
  /// capture is lost. The mutex is held.
  void forbidInCapture(const char *call);

  /// The error of work that failed, which every later call returns.
  std::atomic<cudaError_t> stickyError = cudaSuccess;
  std::atomic<uint64_t> executed = 0, launches = 0;
  void report(const std::string &text);
  std::string lastReport();

private:
  Device();
  CUstream_st &legacyStream();
  void workFailed(const Work &work);
  bool meetsFault(const Work &work);

  std::map<int, CUstream_st> legacy;
  std::atomic<uint64_t> faultsMet = 0;
  std::mutex reportMutex;
  std::string lastText;
};

/// The device of this thread, and what its last failed call returned.
extern thread_local int currentDevice;
extern thread_local cudaError_t lastError;

cudaError_t codeOf(FaultKind kind);

/// Runs the body of an exported function: turns what it throws into an error
/// and remembers it.
template <typename Body> cudaError_t call(const char *name, Body body) {
  Device &device = Device::get();
  cudaError_t error = device.stickyError;
  if (error == cudaSuccess) {
    try {
      body(device);
      error = device.stickyError;
    } catch (const CudaError &failure) {
      error = failure.code;
      device.report(std::string(name) + ": " + failure.what);
    } catch (const std::exception &failure) {
      error = cudaErrorUnknown;
      device.report(std::string(name) + ": " + failure.what());
    }
  }
  if (error != cudaSuccess)
    lastError = error;
  return error;
}

/// Throws the error unless `condition`.
inline void require(bool condition, cudaError_t code, const char *what) {
  if (!condition)
    throw CudaError{code, what};
}

} // namespace weft::emulator

#endif // WEFT_EMULATOR_CUDART_DEVICE_H
