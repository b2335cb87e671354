//===- Streams.cpp - Exported: streams and events -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

using namespace weft::emulator;

/// Stays until somebody asks for the last error, like any other.
static cudaError_t notReady() { return lastError = cudaErrorNotReady; }

extern "C" {

WEFT_EMULATOR_EXPORT cudaError_t
cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int) {
  return call(__func__, [&](Device &device) {
    auto result = std::make_unique<CUstream_st>();
    result->device = currentDevice;
    result->isBlocking = !(flags & cudaStreamNonBlocking);
    std::lock_guard lock(device.mutex);
    device.streams.insert(*stream = result.release());
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    CUstream_st &target = device.stream(stream);
    if (target.capture)
      target.capture->isValid = false;
    // What was enqueued is still done.
    device.streams.erase(stream);
    delete stream;
  });
}

/// Throws if the stream is captured: nobody can wait for its work.
static void forbidOnCaptured(CUstream_st &stream) {
  if (!stream.capture)
    return;
  stream.capture->isValid = false;
  throw CudaError{cudaErrorStreamCaptureUnsupported,
                  "not allowed on a stream that is captured"};
}

WEFT_EMULATOR_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call(__func__, [&](Device &device) {
    WorkPointer tail;
    {
      std::lock_guard lock(device.mutex);
      CUstream_st &target = device.stream(stream);
      forbidOnCaptured(target);
      tail = target.tail;
    }
    device.scheduler.wait(tail);
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaStreamQuery(cudaStream_t stream) {
  bool done = true;
  cudaError_t error = call(__func__, [&](Device &device) {
    WorkPointer tail;
    {
      std::lock_guard lock(device.mutex);
      CUstream_st &target = device.stream(stream);
      forbidOnCaptured(target);
      tail = target.tail;
    }
    device.scheduler.step();
    done = device.scheduler.isDone(tail);
  });
  return error != cudaSuccess || done ? error : notReady();
}

WEFT_EMULATOR_EXPORT cudaError_t cudaDeviceSynchronize() {
  return call(__func__, [&](Device &device) {
    {
      std::lock_guard lock(device.mutex);
      device.forbidInCapture("cudaDeviceSynchronize");
    }
    device.scheduler.waitForAll();
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event,
                                                          unsigned int flags) {
  return call(__func__, [&](Device &device) {
    auto result = std::make_unique<CUevent_st>();
    result->hasTime = !(flags & cudaEventDisableTiming);
    std::lock_guard lock(device.mutex);
    device.events.insert(*event = result.release());
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    device.event(event);
    device.events.erase(event);
    delete event;
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event,
                                                 cudaStream_t stream) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    CUevent_st &target = device.event(event);
    CUstream_st &source = device.stream(stream);
    target.capture = source.capture;
    target.captured = source.captured;
    if (source.capture) {
      require(source.capture->isValid, cudaErrorStreamCaptureInvalidated,
              "the capture of the stream has failed before");
      target.work = nullptr;
      return;
    }
    auto time = std::make_shared<std::optional<CUevent_st::Time>>();
    target.time = time;
    target.work = device.enqueue(
        source, "event", [time] { *time = std::chrono::steady_clock::now(); });
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream,
                                                     cudaEvent_t event,
                                                     unsigned int) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    CUstream_st &target = device.stream(stream);
    const CUevent_st &source = device.event(event);
    if (target.capture) {
      if (source.capture == target.capture && target.capture->isValid) {
        target.captured.insert(source.captured.begin(), source.captured.end());
        return;
      }
      target.capture->isValid = false;
      throw source.capture
          ? CudaError{cudaErrorStreamCaptureMerge,
                      "the event belongs to another capture"}
          : CudaError{cudaErrorStreamCaptureIsolation,
                      "a stream that is captured waits for an event that was "
                      "recorded outside the capture"};
    }
    if (source.capture) {
      require(source.capture->isValid &&
                  device.captures.contains(source.capture),
              cudaErrorCapturedEvent, "the event's capture has ended");
      // The stream joins the capture.
      target.capture = source.capture;
      target.captured = source.captured;
      return;
    }
    // An event that was never recorded is nothing to wait for.
    if (source.work)
      target.tail =
          device.scheduler.submit("wait", nullptr, {target.tail, source.work});
  });
}

static WorkPointer workOf(Device &device, cudaEvent_t event) {
  std::lock_guard lock(device.mutex);
  CUevent_st &target = device.event(event);
  if (target.capture) {
    target.capture->isValid = false;
    throw CudaError{cudaErrorCapturedEvent,
                    "the event was recorded in a capture"};
  }
  return target.work;
}

WEFT_EMULATOR_EXPORT cudaError_t cudaEventQuery(cudaEvent_t event) {
  bool done = true;
  cudaError_t error = call(__func__, [&](Device &device) {
    WorkPointer work = workOf(device, event);
    device.scheduler.step();
    done = device.scheduler.isDone(work);
  });
  return error != cudaSuccess || done ? error : notReady();
}

WEFT_EMULATOR_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call(__func__, [&](Device &device) {
    device.scheduler.wait(workOf(device, event));
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaEventElapsedTime(float *milliseconds,
                                                      cudaEvent_t start,
                                                      cudaEvent_t end) {
  bool done = true;
  cudaError_t error = call(__func__, [&](Device &device) {
    WorkPointer first = workOf(device, start), last = workOf(device, end);
    std::lock_guard lock(device.mutex);
    require(start->hasTime && end->hasTime && first && last,
            cudaErrorInvalidResourceHandle,
            "the events were not recorded, or with cudaEventDisableTiming");
    done = device.scheduler.isDone(first) && device.scheduler.isDone(last);
    if (done && *start->time && *end->time)
      *milliseconds =
          std::chrono::duration<float, std::milli>(**end->time - **start->time)
              .count();
  });
  return error != cudaSuccess || done ? error : notReady();
}

/// The runtime does not call it; libraries in the place of NCCL do.
WEFT_EMULATOR_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t stream,
                                                    cudaHostFn_t function,
                                                    void *argument) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    device.enqueue(device.stream(stream), "host function",
                   [function, argument] { function(argument); });
  });
}

} // extern "C"
