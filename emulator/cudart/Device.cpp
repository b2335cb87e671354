//===- Device.cpp - The state of the process ------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include <cstdio>

namespace weft::emulator {

thread_local int currentDevice = 0;
thread_local cudaError_t lastError = cudaSuccess;

Device &Device::get() {
  // Threads may still call when the process ends.
  static Device *device = new Device;
  return *device;
}

Device::Device() : scheduler(settings.seed) {
  scheduler.setFailureHandler([this](const Work &work) { workFailed(work); });
  if (!settings.problem.empty()) {
    stickyError = cudaErrorUnknown;
    report(settings.problem);
  }
  if (settings.tracesWork)
    scheduler.setStartHandler([](const Work &work) {
      std::fprintf(stderr, "CUDA emulator: runs %s\n", work.label.c_str());
    });
  if (settings.fault != Settings::Fault::None)
    scheduler.setFaultHandler(
        [this](const Work &work) { return meetsFault(work); });
}

cudaError_t codeOf(FaultKind kind) {
  switch (kind) {
  case FaultKind::IllegalAddress:
    return cudaErrorIllegalAddress;
  case FaultKind::MisalignedAddress:
    return cudaErrorMisalignedAddress;
  case FaultKind::Timeout:
    return cudaErrorLaunchTimeout;
  default:
    return cudaErrorLaunchFailure;
  }
}

/// What WEFT_EMULATOR_FAULT asks for.
bool Device::meetsFault(const Work &work) {
  if (work.label != settings.faultName || ++faultsMet != settings.faultCount)
    return false;
  if (settings.fault == Settings::Fault::Lose)
    throw CudaError{cudaErrorECCUncorrectable, "the device is lost in " +
                                                   work.label +
                                                   ", as it was asked to be"};
  report("the device hangs in " + work.label + ", as it was asked to");
  return true;
}

/// Called where the exception is handled.
void Device::workFailed(const Work &work) {
  try {
    throw;
  } catch (const Fault &fault) {
    stickyError = codeOf(fault.kind);
    report(fault.what());
  } catch (const CudaError &failure) {
    stickyError = failure.code;
    report(failure.what);
  } catch (const std::exception &failure) {
    stickyError = cudaErrorUnknown;
    report(work.label + ": " + failure.what());
  }
}

void Device::report(const std::string &text) {
  std::lock_guard lock(reportMutex);
  lastText = text;
  std::fprintf(stderr, "CUDA emulator: %s\n", text.c_str());
}

std::string Device::lastReport() {
  std::lock_guard lock(reportMutex);
  return lastText;
}

CUstream_st &Device::legacyStream() {
  CUstream_st &stream = legacy[currentDevice];
  stream.device = currentDevice;
  return stream;
}

CUstream_st &Device::stream(cudaStream_t handle) {
  if (!handle || handle == cudaStreamLegacy)
    return legacyStream();
  require(streams.contains(handle), cudaErrorInvalidResourceHandle,
          "there is no such stream");
  return *handle;
}

CUevent_st &Device::event(cudaEvent_t handle) {
  require(events.contains(handle), cudaErrorInvalidResourceHandle,
          "there is no such event");
  return *handle;
}

WorkPointer Device::enqueue(CUstream_st &stream, std::string label,
                            std::function<void()> run) {
  CUstream_st &legacyOne = legacyStream();
  if (stream.capture) {
    require(stream.capture->isValid, cudaErrorStreamCaptureInvalidated,
            "the capture of the stream has failed before");
    std::vector<GraphBody::Node> &nodes = stream.capture->body.nodes;
    nodes.push_back({std::move(label), std::move(run), stream.captured});
    stream.captured = {nodes.size() - 1};
    return nullptr;
  }
  std::vector<WorkPointer> dependencies = {stream.tail};
  if (&stream == &legacyOne) {
    for (const std::shared_ptr<Capture> &capture : captures)
      if (capture->mode == cudaStreamCaptureModeGlobal) {
        capture->isValid = false;
        throw CudaError{cudaErrorStreamCaptureImplicit,
                        label + ": the legacy stream would wait for a stream "
                                "that is captured"};
      }
    for (cudaStream_t other : streams)
      if (other->isBlocking && other->device == stream.device)
        dependencies.push_back(other->tail);
  } else if (stream.isBlocking) {
    dependencies.push_back(legacyOne.tail);
  }
  stream.tail =
      scheduler.submit(std::move(label), std::move(run), dependencies);
  return stream.tail;
}

void Device::forbidInCapture(const char *call) {
  for (const std::shared_ptr<Capture> &capture : captures) {
    bool mine = capture->thread == std::this_thread::get_id();
    if (capture->mode == cudaStreamCaptureModeGlobal ||
        (capture->mode == cudaStreamCaptureModeThreadLocal && mine)) {
      capture->isValid = false;
      throw CudaError{cudaErrorStreamCaptureUnsupported,
                      std::string(call) + " is not allowed during a capture" +
                          (mine ? "" : " of another thread")};
    }
  }
}

cudaError_t enqueue(cudaStream_t stream, std::string label,
                    std::function<void()> run) {
  return call(label.c_str(), [&](Device &device) {
    std::lock_guard lock(device.mutex);
    device.enqueue(device.stream(stream), label, std::move(run));
  });
}

void checkAccess(const void *pointer, size_t bytes, const std::string &what) {
  auto allocation = Device::get().memory.find(pointer);
  if (bytes == 0)
    return;
  char address[32];
  std::snprintf(address, sizeof address, "%p", pointer);
  if (!allocation)
    throw Fault(FaultKind::IllegalAddress,
                what + ": there is no allocation at " + address);
  if (!allocation->contains(reinterpret_cast<uint64_t>(pointer), bytes))
    throw Fault(FaultKind::IllegalAddress,
                what + ": " + std::to_string(bytes) + " bytes at " + address +
                    " do not fit the allocation of " +
                    std::to_string(allocation->bytes) + " bytes there");
}

cudaError_t leftError() { return lastError; }

std::string lastReport() { return Device::get().lastReport(); }

uint64_t executedInstructions() { return Device::get().executed; }

} // namespace weft::emulator
