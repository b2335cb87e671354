//===- LaunchOrder.h - How the fake NCCL uses streams -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With NCCL_LAUNCH_ORDER_IMPLICIT, operations of all communicators of a device
// are launched in the order of the calls: they begin in this order, and when
// they end is a matter of their streams. So an operation is two functions on
// its stream. The first waits for an event that the one before it records
// behind its own first, within one capture or outside of any.
//
// An emulated device carries out one thing at a time, and never waits for
// itself: a beginning waits for ends, and an end for beginnings, of operations
// before it or of the same. Of all that ranks wait in, the earliest can go on.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_NCCL_LAUNCHORDER_H
#define WEFT_EMULATOR_NCCL_LAUNCHORDER_H

#include <cuda_runtime_api.h>

#include <cstddef>

namespace fake_nccl {

/// Whether the stream is being captured in a graph.
bool isCapturing(cudaStream_t stream);

/// Puts the beginning and the end of an operation on a stream, its beginning
/// behind that of the one before it.
void launch(cudaStream_t stream, void (*begin)(void *), void (*end)(void *),
            void *argument);

/// Calls `release` when the graph that the stream is captured in is gone.
void holdInGraph(cudaStream_t stream, void *object, void (*release)(void *));

/// Memory of the device.
bool allocate(void **memory, size_t bytes);
void release(void *memory);

} // namespace fake_nccl

#endif // WEFT_EMULATOR_NCCL_LAUNCHORDER_H
