//===- DeviceMarks.cpp - How far a device has come --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/DeviceMarks.h"

#include <numeric>
#include <vector>

namespace weft::runtime {

Result<DeviceMarks> DeviceMarks::create(const Cudart &cudart, uint32_t count) {
  DeviceMarks marks;
  marks.cudart = &cudart;
  std::vector<uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  const size_t bytes = values.size() * sizeof(uint32_t);
  WEFT_ASSIGN_OR_RETURN(marks.numbers,
                        allocateDevice(cudart, bytes, "marks of progress"));
  WEFT_ASSIGN_OR_RETURN(marks.place, allocatePinned(cudart, sizeof(uint32_t)));
  marks.clear();
  WEFT_RETURN_IF_ERROR(
      cudaStatus(cudart,
                 cudart.memcpy(marks.numbers.get(), values.data(), bytes,
                               cudaMemcpyHostToDevice),
                 "cudaMemcpy"));
  // Other streams do not wait for the one of the copy.
  WEFT_RETURN_IF_ERROR(cudaStatus(cudart, cudart.streamSynchronize(nullptr),
                                  "cudaStreamSynchronize"));
  return marks;
}

Status DeviceMarks::write(uint32_t number, cudaStream_t stream) const {
  return cudaStatus(
      *cudart,
      cudart->memcpyAsync(place.get(),
                          static_cast<const uint32_t *>(numbers.get()) + number,
                          sizeof(uint32_t), cudaMemcpyDeviceToHost, stream),
      "cudaMemcpyAsync");
}

} // namespace weft::runtime
