//===- NcclIssuer.cpp - The thread that talks to NCCL -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/nccl/NcclIssuer.h"

#include "comm/Call.h"
#include "weft/runtime/CollectiveQueues.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace weft::runtime {

Status NcclIssuer::attach(uint32_t mostNumbered, size_t messageQueues,
                          std::chrono::nanoseconds newSetup,
                          std::chrono::nanoseconds newDeadline) {
  owner = std::this_thread::get_id();
  setup = newSetup;
  deadline = newDeadline;
  WEFT_ASSIGN_OR_RETURN(blocks, BlockKernels::load(cudart));
  std::vector<uint32_t> counted(mostNumbered + 1);
  std::iota(counted.begin(), counted.end(), 0);
  const size_t bytes = counted.size() * sizeof(uint32_t);
  const size_t count = maxQueues + messageQueues;
  WEFT_RETURN_IF_ERROR(cudaStatus(
      cudart, cudart.malloc(reinterpret_cast<void **>(&numbers), bytes),
      "cudaMalloc"));
  WEFT_RETURN_IF_ERROR(
      cudaStatus(cudart,
                 cudart.mallocHost(reinterpret_cast<void **>(&marks),
                                   count * sizeof *marks),
                 "cudaMallocHost"));
  started.resize(messageQueues);
  markCount.store(count);
  clearMarks();
  WEFT_RETURN_IF_ERROR(cudaStatus(
      cudart,
      cudart.memcpy(numbers, counted.data(), bytes, cudaMemcpyHostToDevice),
      "cudaMemcpy"));
  // The streams of the rank do not wait for the one of the copy.
  return cudaStatus(cudart, cudart.deviceSynchronize(),
                    "cudaDeviceSynchronize");
}

void NcclIssuer::detach() {
  // Giving memory back waits for the device, which hangs after some failures.
  if (numbers && !failed.load())
    (void)cudart.free(numbers);
  numbers = nullptr;
  blocks.reset();
}

NcclIssuer::~NcclIssuer() {
  // Not in detach: the watchdog looks at it until the world is gone.
  if (marks && !failed.load())
    (void)cudart.freeHost(marks);
}

Status NcclIssuer::check() const {
  if (owner != std::this_thread::get_id())
    return internalError("NCCL is called by another thread than the one that "
                         "made its communicators");
  return failed.load() ? status() : Status();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static StatusCode codeOf(ncclResult_t result) {
  switch (result) {
  case ncclInvalidArgument:
    return StatusCode::InvalidArgument;
  case ncclInvalidUsage:
    return StatusCode::FailedPrecondition;
  case ncclInternalError:
    return StatusCode::Internal;
  default:
    return StatusCode::Unavailable;
  }
}

/// What usually lies behind a failure (N23).
static std::string_view remedy(ncclResult_t result) {
  if (result == ncclSystemError)
    return "; in a container, NCCL needs more of /dev/shm and of locked memory "
           "than the default (--shm-size=1g --ulimit memlock=-1); "
           "NCCL_DEBUG=INFO "
           "prints more";
  if (result == ncclRemoteError)
    return "; another rank has failed, or the network between the ranks";
  return "; NCCL_DEBUG=INFO prints more";
}

Status NcclIssuer::describe(ncclResult_t result, const char *call,
                            ncclComm_t communicator) const {
  const char *last = nccl.getLastError(communicator);
  return Status(codeOf(result),
                fmt::format("{}: {}{}{}{}", call, nccl.getErrorString(result),
                            last && *last ? ": " : "", last ? last : "",
                            remedy(result)));
}

Status NcclIssuer::settle(ncclResult_t result, const char *call,
                          ncclComm_t communicator,
                          std::chrono::nanoseconds timeout) {
  WaitBudget budget(timeout);
  const Clock::time_point begin = Clock::now();
  while (result == ncclInProgress) {
    const ncclResult_t asked = nccl.commGetAsyncError(communicator, &result);
    if (asked != ncclSuccess)
      result = asked;
    if (result != ncclInProgress)
      break;
    if (failed.load())
      return status();
    if (budget.isSpent()) {
      abort(deadlineExceeded(fmt::format("{}: still in progress after {}", call,
                                         describeDuration(timeout))));
      return status();
    }
    // A collective is enqueued within microseconds; ranks that are created wait
    // for each other.
    if (Clock::now() - begin < std::chrono::milliseconds(2))
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  if (result == ncclSuccess)
    return {};
  const Status failure = describe(result, call, communicator);
  if (result == ncclInvalidArgument)
    return failure;
  abort(failure);
  return failure;
}

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

Status NcclIssuer::writeMark(size_t mark, uint32_t number,
                             cudaStream_t stream) const {
  return cudaStatus(cudart,
                    cudart.memcpyAsync(marks + mark, numbers + number,
                                       sizeof *marks, cudaMemcpyDeviceToHost,
                                       stream),
                    "cudaMemcpyAsync");
}

Status NcclIssuer::mark(size_t queue, cudaStream_t stream) {
  return writeMark(queue, ++enqueued, stream);
}

Status NcclIssuer::markMessage(size_t queue, cudaStream_t stream) {
  return writeMark(maxQueues + queue, ++started[queue], stream);
}

Begun NcclIssuer::lastMarks() const {
  Begun begun(markCount.load());
  for (size_t mark = 0; mark < begun.size(); ++mark)
    begun[mark] = std::atomic_ref<uint32_t>(marks[mark]).load();
  return begun;
}

void NcclIssuer::clearMarks() {
  for (size_t mark = 0; mark < markCount.load(); ++mark)
    std::atomic_ref<uint32_t>(marks[mark]).store(0);
}

void NcclIssuer::beginRun() {
  clearMarks();
  std::ranges::fill(started, 0);
  enqueued = 0;
  isCaptured.reset();
}

Status NcclIssuer::checkCapture(const void *collective, cudaStream_t stream) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  WEFT_RETURN_IF_ERROR(cudaStatus(cudart,
                                  cudart.streamIsCapturing(stream, &capture),
                                  "cudaStreamIsCapturing"));
  const bool isCapture = capture != cudaStreamCaptureStatusNone;
  if (isCaptured.value_or(isCapture) != isCapture)
    return internalError("a run has collectives that are captured in a graph "
                         "and others that are not");
  isCaptured = isCapture;
  if (!isCapture)
    wasRun.insert(collective);
  else if (!wasRun.contains(collective))
    return failedPrecondition("a collective is captured in a graph before it "
                              "has run once: NCCL connects ranks in their "
                              "first call, which no graph can hold");
  return {};
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

void NcclIssuer::watch(ncclComm_t communicator) {
  const Inside inside(calling);
  watched.push_back(communicator);
}

void NcclIssuer::unwatch(ncclComm_t communicator) {
  const Inside inside(calling);
  std::erase(watched, communicator);
}

Status NcclIssuer::asyncError() {
  const std::unique_lock<std::recursive_mutex> inside(calling,
                                                      std::try_to_lock);
  if (!inside)
    return {};
  for (ncclComm_t communicator : watched) {
    ncclResult_t result = ncclSuccess;
    const ncclResult_t asked = nccl.commGetAsyncError(communicator, &result);
    if (asked != ncclSuccess)
      result = asked;
    if (result != ncclSuccess && result != ncclInProgress)
      return describe(result, "an operation of NCCL", communicator);
  }
  return {};
}

void NcclIssuer::abort(const Status &reason) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!failure.ok())
    return;
  failure = reason;
  failed.store(true);
}

Status NcclIssuer::status() const {
  std::lock_guard<std::mutex> lock(mutex);
  return failure;
}

} // namespace weft::runtime
