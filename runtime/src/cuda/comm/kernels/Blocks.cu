//===- Blocks.cu - Copies and reductions between ranks ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What collectives do on a device where no library does it for them. The host
// side is Blocks.h; sizes and strides are in units of a copy or elements of a
// reduction.
//
//===----------------------------------------------------------------------===//

#include "BlockParameters.h"
#include "comm/ReduceElement.h"

using namespace weft::runtime;

namespace {

/// Index of the first element of this thread, and the distance to its next.
__device__ int64_t firstIndex() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ int64_t gridSize() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

template <typename Unit>
__device__ void copyBlocks(const BlockCopyParameters &p) {
  const int64_t units = p.extents[0] * p.extents[1] * p.extents[2] * p.inner;
  for (int64_t i = firstIndex(); i < units; i += gridSize()) {
    const int64_t block = i / p.inner, rest = block / p.extents[2];
    const int64_t within = i - block * p.inner;
    const int64_t c = block - rest * p.extents[2];
    const int64_t a = rest / p.extents[1], b = rest - a * p.extents[1];
    const int64_t from = a * p.sourceStrides[0] + b * p.sourceStrides[1] +
                         c * p.sourceStrides[2] + within;
    const int64_t to = a * p.destinationStrides[0] +
                       b * p.destinationStrides[1] +
                       c * p.destinationStrides[2] + within;
    static_cast<Unit *>(p.destination)[to] =
        static_cast<const Unit *>(p.source)[from];
  }
}

/// Sources are combined in their order, as on the host.
template <typename T, typename Op>
__device__ void reduceBlocks(const BlockReduceParameters &p) {
  using Stored = typename Element<T>::Stored;
  for (int64_t i = firstIndex(); i < p.rows * p.columns; i += gridSize()) {
    const int64_t row = i / p.columns;
    const int64_t from = row * p.sourceStride + (i - row * p.columns);
    auto sum =
        Element<T>::load(static_cast<const Stored *>(p.sources[0])[from]);
#pragma unroll
    for (int k = 1; k < maxReduceSources; ++k)
      if (k < p.count)
        sum = Op::apply(sum, Element<T>::load(static_cast<const Stored *>(
                                 p.sources[k])[from]));
    static_cast<Stored *>(p.destination)[i] = Element<T>::store(sum);
  }
}

} // namespace

#define WEFT_COPY(bytes, Unit)                                                 \
  extern "C" __global__ void weft_copy_##bytes(const BlockCopyParameters p) {  \
    copyBlocks<Unit>(p);                                                       \
  }
WEFT_COPY(1, uint8_t)
WEFT_COPY(2, uint16_t)
WEFT_COPY(4, uint32_t)
WEFT_COPY(8, uint64_t)
WEFT_COPY(16, uint4)

#define WEFT_REDUCE(name, T, Op)                                               \
  extern "C" __global__ void weft_reduce_##name(                               \
      const BlockReduceParameters p) {                                         \
    reduceBlocks<T, Op>(p);                                                    \
  }
#define WEFT_REDUCE_ALL(name, T)                                               \
  WEFT_REDUCE(sum_##name, T, Add)                                              \
  WEFT_REDUCE(max_##name, T, Maximum)                                          \
  WEFT_REDUCE(min_##name, T, Minimum)
WEFT_REDUCE_ALL(f32, float)
WEFT_REDUCE_ALL(f64, double)
WEFT_REDUCE_ALL(bf16, BFloat16)
WEFT_REDUCE_ALL(f16, Float16)
WEFT_REDUCE_ALL(i64, int64_t)
WEFT_REDUCE_ALL(i32, int32_t)
WEFT_REDUCE_ALL(i16, int16_t)
WEFT_REDUCE_ALL(i8, int8_t)
// Pred has max (or) and min (and).
WEFT_REDUCE(max_pred, uint8_t, Maximum)
WEFT_REDUCE(min_pred, uint8_t, Minimum)
