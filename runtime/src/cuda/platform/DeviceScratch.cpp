//===- DeviceScratch.cpp - Device memory for trials -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/platform/DeviceScratch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace weft::runtime {

DeviceScratch::~DeviceScratch() {
  const bool isUsed = !pieces.empty() || context.spareTaken != takenBefore;
  // To free memory is to wait for the device.
  if (!isUsed || context.waitFailed || !context.synchronize("a trial").ok())
    return;
  context.spareTaken = takenBefore;
  for (void *piece : pieces)
    (void)cudart.free(piece);
}

/// A piece of the spare memory, or null.
static void *takeSpare(const CudaContext &context, size_t bytes) {
  constexpr size_t alignment = 256; // that of cudaMalloc
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  const std::span<std::byte> rest = context.spare.subspan(context.spareTaken);
  if (rounded < bytes || rounded > rest.size())
    return nullptr;
  context.spareTaken += rounded;
  return rest.data();
}

Result<void *> DeviceScratch::allocate(size_t bytes) {
  void *piece = takeSpare(context, bytes);
  if (piece)
    return piece;
  if (const cudaError_t error = cudart.malloc(&piece, bytes);
      error != cudaSuccess) {
    // The caller goes on without, and libraries would take it for theirs.
    (void)cudart.getLastError();
    size_t free = 0, total = 0;
    (void)cudart.memGetInfo(&free, &total);
    return cudaStatus(cudart, error,
                      fmt::format("cudaMalloc of {} bytes for a trial, with "
                                  "{} of {} free",
                                  bytes, free, total));
  }
  pieces.push_back(piece);
  return piece;
}

static std::vector<std::byte> randomNumbers(DType dtype, int64_t count,
                                            int seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(static_cast<size_t>(count) * byteSize(dtype));
  for (int64_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(random()) * 0x1p-31f - 1;
    std::byte *address = bytes.data() + i * byteSize(dtype);
    const auto put = [&](auto number) {
      std::memcpy(address, &number, sizeof(number));
    };
    switch (dtype) {
    case DType::F32:
      put(value);
      break;
    case DType::F64:
      put(static_cast<double>(value));
      break;
    case DType::BF16:
      put(toBFloat16(value));
      break;
    case DType::F16:
      put(toFloat16(value));
      break;
    default:
      break; // no GEMMs of others
    }
  }
  return bytes;
}

Result<void *> DeviceScratch::random(DType dtype, int64_t elements, int seed) {
  const size_t bytes = static_cast<size_t>(elements) * byteSize(dtype);
  WEFT_ASSIGN_OR_RETURN(void *const piece, allocate(bytes));
  // A piece from the host, which then doubles.
  const std::vector<std::byte> numbers =
      randomNumbers(dtype, std::min<int64_t>(elements, 1 << 20), seed);
  WEFT_RETURN_IF_ERROR(
      cudaStatus(cudart,
                 cudart.memcpyAsync(piece, numbers.data(), numbers.size(),
                                    cudaMemcpyHostToDevice, context.compute),
                 "cudaMemcpyAsync"));
  for (size_t done = numbers.size(); done < bytes;) {
    const size_t more = std::min(done, bytes - done);
    WEFT_RETURN_IF_ERROR(cudaStatus(
        cudart,
        cudart.memcpyAsync(static_cast<std::byte *>(piece) + done, piece, more,
                           cudaMemcpyDeviceToDevice, context.compute),
        "cudaMemcpyAsync"));
    done += more;
  }
  WEFT_RETURN_IF_ERROR(context.synchronize("the copy of random numbers"));
  return piece;
}

} // namespace weft::runtime
