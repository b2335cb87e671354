//===- BlockParameters.h - What kernels of Blocks.cu are given --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One parameter a kernel, the same bytes for host and device.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_COMM_KERNELS_BLOCKPARAMETERS_H
#define WEFT_RUNTIME_SRC_CUDA_COMM_KERNELS_BLOCKPARAMETERS_H

#include <cstdint>

namespace weft::runtime {

/// For all a, b, c: `inner` units from one block to another, whose distances
/// along a, b and c are the strides. weft_copy_N copies units of N bytes.
struct BlockCopyParameters {
  void *destination;
  const void *source;
  int64_t extents[3];
  int64_t sourceStrides[3];
  int64_t destinationStrides[3];
  int64_t inner;
};

inline constexpr int maxReduceSources = 16;

/// destination [rows, columns], dense = the values of `count` sources
/// [rows, columns], whose rows are `sourceStride` elements apart, combined in
/// the order of the sources. The destination is none of them.
struct BlockReduceParameters {
  void *destination;
  const void *sources[maxReduceSources];
  int64_t rows;
  int64_t columns;
  int64_t sourceStride;
  int32_t count;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_COMM_KERNELS_BLOCKPARAMETERS_H
