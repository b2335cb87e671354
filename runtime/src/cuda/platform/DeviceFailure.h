//===- DeviceFailure.h - Devices that are lost ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CUDA returns some errors for good: a kernel has written where nothing is, or
// the device is gone, and every later call of the process fails with the same
// error, whatever it does. They are told apart from calls that failed
// themselves, with where the device was and what helps.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_PLATFORM_DEVICEFAILURE_H
#define WEFT_RUNTIME_SRC_CUDA_PLATFORM_DEVICEFAILURE_H

#include "cuda/platform/Libraries.h"

namespace weft::runtime {

/// Whether all later calls return the error, too.
bool isDeviceFailure(cudaError_t error);

/// What a failure of the device says: "the device has failed <where>: an
/// illegal memory access was encountered (cudaErrorIllegalAddress); ...".
Status deviceFailure(const Cudart &cudart, cudaError_t error,
                     std::string_view where);

/// What a user can do where no device is given out, to be put behind the
/// message: "; ...", or nothing.
std::string_view remedyAtStart(cudaError_t error);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_PLATFORM_DEVICEFAILURE_H
