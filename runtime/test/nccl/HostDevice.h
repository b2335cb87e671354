//===- HostDevice.h - A device that is a thread -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As much of the CUDA runtime as a world of NCCL needs: memory of the host, two
// streams, which are threads with a queue, the kernels that copy blocks, and
// four multiprocessors.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_NCCL_HOSTDEVICE_H
#define WEFT_RUNTIME_TEST_NCCL_HOSTDEVICE_H

#include "cuda/platform/Libraries.h"

namespace weft::runtime {

/// The table; there is one device a process.
Cudart hostDevice();

/// The fake NCCL, whose operations run on the streams of the device.
Nccl fakeNccl();

/// The stream of a queue.
cudaStream_t hostStream(size_t queue = 0);
/// Whether everything on the streams is done.
bool isHostStreamIdle();
/// What cudaStreamIsCapturing says from now on. What is captured runs at once,
/// and is held in a graph until `dropHostGraphs`.
void setHostStreamCapturing(bool isCapturing);
void dropHostGraphs();

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_NCCL_HOSTDEVICE_H
