//===- LaunchOrder.h - How the fake NCCL uses streams -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With NCCL_LAUNCH_ORDER_IMPLICIT, operations of all communicators of a device
// are launched in the order of the calls. The device in software carries out
// one thing at a time, so there they also end in this order: each waits for an
// event that the one before it records, within one capture or outside of any.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_FAKENCCL_LAUNCHORDER_H
#define WEFT_RUNTIME_TEST_FAKENCCL_LAUNCHORDER_H

#include <cuda_runtime_api.h>

#include <cstddef>

namespace fake_nccl {

/// Whether the stream is being captured in a graph.
bool isCapturing(cudaStream_t stream);

/// Puts a function on a stream, behind the one before it.
void launch(cudaStream_t stream, void (*function)(void *), void *argument);

/// Calls `release` when the graph that the stream is captured in is gone.
void holdInGraph(cudaStream_t stream, void *object, void (*release)(void *));

/// Memory of the device.
bool allocate(void **memory, size_t bytes);
void release(void *memory);

} // namespace fake_nccl

#endif // WEFT_RUNTIME_TEST_FAKENCCL_LAUNCHORDER_H
