//===- Blocks.h - Copies and reductions between ranks -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches the kernels of kernels/Blocks.cu.
//
// Example, [outer, a, b, inner] -> [outer, b, a, inner] of elements of s bytes:
//
//   blocks.copy({.destination = to, .source = from,
//                .extents = {outer, a, b},
//                .sourceStrides = {a * b * inner * s, b * inner * s, inner *
//                s}, .destinationStrides = {a * b * inner * s, inner * s,
//                                       a * inner * s},
//                .inner = inner * s}, stream);
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_COMM_BLOCKS_H
#define WEFT_RUNTIME_SRC_CUDA_COMM_BLOCKS_H

#include "cuda/comm/kernels/BlockParameters.h"
#include "cuda/platform/KernelModule.h"
#include "weft/runtime/Communicator.h"

#include <array>
#include <span>

namespace weft::runtime {

/// Strides and `inner` in bytes.
using BlockCopy = BlockCopyParameters;

/// A block of an exchange from the sender's source to the receiver's
/// destination; `unit` bytes are one element of its middle dimension.
BlockCopy copyOf(const ExchangeBlock &block, const Exchange &exchange,
                 int64_t unit, const void *source, void *destination);

/// destination [rows, columns] from sources whose rows are `sourceStride`
/// elements apart.
struct BlockReduce {
  DType dtype;
  Reduction reduction;
  void *destination;
  std::span<const void *const> sources;
  int64_t rows;
  int64_t columns;
  int64_t sourceStride;
};

class BlockKernels {
public:
  /// Loads the kernels for the current device.
  static Result<BlockKernels> load(const Cudart &cudart);

  Status copy(const BlockCopy &copy, cudaStream_t stream) const;
  /// At most maxReduceSources sources.
  Status reduce(const BlockReduce &reduce, cudaStream_t stream) const;

private:
  explicit BlockKernels(KernelModule module) : module(std::move(module)) {}
  Status launch(cudaKernel_t kernel, void *parameters, int64_t threads,
                cudaStream_t stream) const;

  KernelModule module;
  /// For units of 1, 2, 4, 8 and 16 bytes.
  std::array<cudaKernel_t, 5> copies{};
  /// [reduction][dtype]; null where there is none.
  std::array<std::array<cudaKernel_t, dtypeCount>, 3> reductions{};
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_COMM_BLOCKS_H
