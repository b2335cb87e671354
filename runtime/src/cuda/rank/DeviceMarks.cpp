//===- DeviceMarks.cpp - How far a device has come --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/rank/DeviceMarks.h"

#include <numeric>
#include <vector>

namespace weft::runtime {

Status DeviceMarks::prepare(const CudaContext &context, uint32_t count) {
  cudart = &context.cudart;
  std::vector<uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  const size_t bytes = values.size() * sizeof(uint32_t);
  WEFT_ASSIGN_OR_RETURN(numbers,
                        allocateDevice(*cudart, bytes, "marks of progress"));
  WEFT_ASSIGN_OR_RETURN(memory, allocatePinned(*cudart, sizeof(uint32_t)));
  clear();
  WEFT_RETURN_IF_ERROR(
      cudaStatus(*cudart,
                 cudart->memcpyAsync(numbers.get(), values.data(), bytes,
                                     cudaMemcpyHostToDevice, context.compute),
                 "cudaMemcpyAsync"));
  return context.synchronize("the copy of marks");
}

Status DeviceMarks::write(uint32_t number, cudaStream_t stream) const {
  return cudaStatus(
      *cudart,
      cudart->memcpyAsync(memory.get(),
                          static_cast<const uint32_t *>(numbers.get()) + number,
                          sizeof(uint32_t), cudaMemcpyDeviceToHost, stream),
      "cudaMemcpyAsync");
}

} // namespace weft::runtime
