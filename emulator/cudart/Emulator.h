//===- Emulator.h - The device, for other emulated libraries and tests
//-*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libcublasLt of the emulator puts its products on streams by this; a fake of
// another library may do the same. Exported by libcudart.so.13.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_CUDART_EMULATOR_H
#define WEFT_EMULATOR_CUDART_EMULATOR_H

#include <cuda_runtime_api.h>

#include <functional>
#include <string>

#define WEFT_EMULATOR_EXPORT __attribute__((visibility("default")))

namespace weft::emulator {

/// Puts `run` on the stream, or into the graph that the stream is captured in.
/// What it throws is the device's error from then on.
WEFT_EMULATOR_EXPORT cudaError_t enqueue(cudaStream_t stream, std::string label,
                                         std::function<void()> run);

/// Throws Fault(IllegalAddress) unless these bytes are memory of a device.
WEFT_EMULATOR_EXPORT void checkAccess(const void *pointer, size_t bytes,
                                      const std::string &what);

/// What cudaGetLastError would return, which libraries take for the outcome of
/// their own launches.
WEFT_EMULATOR_EXPORT cudaError_t leftError();

/// What was last written to standard error: why the last call failed, or what a
/// kernel did.
WEFT_EMULATOR_EXPORT std::string lastReport();

/// Instructions that threads have executed in this process.
WEFT_EMULATOR_EXPORT uint64_t executedInstructions();

} // namespace weft::emulator

#endif // WEFT_EMULATOR_CUDART_EMULATOR_H
