//===- FakeNccl.h - How a test reaches into the fake NCCL -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Faults, by the variable WEFT_FAKE_NCCL_FAULT, for one rank of the world:
//
//   version@1       ncclGetVersion answers another version
//   init-hang@1     its communicator never becomes ready
//   late@1:3        its device never comes to the third operation
//   error@1:3       its third operation is an error, found asynchronously
//   refuse@1:3      its third operation is refused with ncclInvalidArgument
//   abort-hang@1    ncclCommAbort does not return
//   no-memory@1     ncclMemAlloc fails
//
// Calls are checked as NCCL would not: one thread makes, uses and destroys the
// communicators of a process, no call comes while another is in progress, all
// ranks call one operation with one size and type in one order, a communicator
// has one stream, what may run at once on all streams fits the device, captured
// operations of a communicator never run beside others, it ends when
// no graph holds one of them, destination and source do not overlap but where
// NCCL works in place, what an operation reads does not change before its end,
// and what is registered comes from ncclMemAlloc.
// Calls are in progress for a while. What is found is an error of the call and
// a line on standard error that begins with "fake nccl:".
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_NCCL_FAKENCCL_H
#define WEFT_EMULATOR_NCCL_FAKENCCL_H

#include <cuda_runtime_api.h>

/// What it needs of a device. Without, it is the libcudart.so.13 in
/// WEFT_CUDA_LIBRARIES.
struct FakeNcclDevice {
  /// Puts a host function on a stream.
  void (*launch)(cudaStream_t stream, void (*function)(void *), void *argument);
  bool (*isCapturing)(cudaStream_t stream);
  /// Calls `release` when the graph that the stream is captured in is gone.
  void (*hold)(cudaStream_t stream, void *object, void (*release)(void *));
  /// Memory of the device; null when there is none left.
  void *(*allocate)(size_t bytes);
  void (*release)(void *memory);
};
extern "C" void weftFakeNcclSetDevice(const FakeNcclDevice *device);

#endif // WEFT_EMULATOR_NCCL_FAKENCCL_H
