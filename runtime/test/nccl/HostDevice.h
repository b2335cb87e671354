//===- HostDevice.h - A device that is a thread -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As much of the CUDA runtime as a world of NCCL needs: memory of the host, one
// stream, which is a thread with a queue, and the kernels that copy blocks.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_NCCL_HOSTDEVICE_H
#define WEFT_RUNTIME_TEST_NCCL_HOSTDEVICE_H

#include "cuda/Libraries.h"

namespace weft::runtime {

/// The table; there is one device a process.
Cudart hostDevice();

/// The fake NCCL, whose operations run on the stream of the device.
Nccl fakeNccl();

/// The stream of the process.
cudaStream_t hostStream();
/// Whether everything on it is done.
bool isHostStreamIdle();
/// What cudaStreamIsCapturing says from now on.
void setHostStreamCapturing(bool isCapturing);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_NCCL_HOSTDEVICE_H
