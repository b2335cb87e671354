//===- Blocks.cpp - Copies and reductions between ranks ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/comm/Blocks.h"

#include "cuda/platform/EmbeddedPtx.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace weft::runtime {

BlockCopy copyOf(const ExchangeBlock &block, const Exchange &exchange,
                 int64_t unit, const void *source, void *destination) {
  return {.destination =
              static_cast<std::byte *>(destination) + block.destination * unit,
          .source =
              static_cast<const std::byte *>(source) + block.source * unit,
          .extents = {1, exchange.outer, block.count},
          .sourceStrides = {0, exchange.before * unit, block.step * unit},
          .destinationStrides = {0, exchange.after * unit, unit},
          .inner = unit};
}

Result<BlockKernels> BlockKernels::load(const Cudart &cudart) {
  WEFT_ASSIGN_OR_RETURN(KernelModule module,
                        KernelModule::load(cudart, embedded::Blocks.data()));
  BlockKernels kernels(std::move(module));
  for (size_t i = 0; i < kernels.copies.size(); ++i) {
    WEFT_ASSIGN_OR_RETURN(kernels.copies[i], kernels.module.kernel(fmt::format(
                                                 "weft_copy_{}", 1 << i)));
  }
  for (const Reduction reduction :
       {Reduction::Sum, Reduction::Max, Reduction::Min})
    for (int type = 0; type < dtypeCount; ++type) {
      const DType dtype = static_cast<DType>(type);
      if (dtype == DType::Pred && reduction == Reduction::Sum)
        continue;
      WEFT_ASSIGN_OR_RETURN(
          kernels.reductions[static_cast<size_t>(reduction)][type],
          kernels.module.kernel(
              fmt::format("weft_reduce_{}_{}", name(reduction), name(dtype))));
    }
  return kernels;
}

Status BlockKernels::launch(cudaKernel_t kernel, void *parameters,
                            int64_t threads, cudaStream_t stream) const {
  if (threads == 0)
    return {};
  // Enough to fill a large GPU; a thread takes more elements than one.
  constexpr int64_t blockThreads = 256, maxBlocks = 2048;
  const int64_t blocks =
      std::min((threads + blockThreads - 1) / blockThreads, maxBlocks);
  void *arguments[] = {parameters};
  const Cudart &cudart = module.cudart();
  return cudaStatus(cudart,
                    cudart.launchKernel(reinterpret_cast<const void *>(kernel),
                                        dim3(static_cast<unsigned>(blocks)),
                                        dim3(blockThreads), arguments, 0,
                                        stream),
                    "cudaLaunchKernel");
}

Status BlockKernels::copy(const BlockCopy &copy, cudaStream_t stream) const {
  // The widest unit that divides every address and size; 16 at most.
  auto divided = static_cast<uint64_t>(copy.inner) | 16 |
                 reinterpret_cast<uintptr_t>(copy.source) |
                 reinterpret_cast<uintptr_t>(copy.destination);
  for (int i = 0; i < 3; ++i)
    divided |= static_cast<uint64_t>(copy.sourceStrides[i]) |
               static_cast<uint64_t>(copy.destinationStrides[i]);
  const int width = std::countr_zero(divided);
  BlockCopyParameters units = copy;
  units.inner >>= width;
  for (int i = 0; i < 3; ++i) {
    units.sourceStrides[i] >>= width;
    units.destinationStrides[i] >>= width;
  }
  return launch(copies[width], &units,
                units.extents[0] * units.extents[1] * units.extents[2] *
                    units.inner,
                stream);
}

Status BlockKernels::reduce(const BlockReduce &reduce,
                            cudaStream_t stream) const {
  BlockReduceParameters parameters = {};
  parameters.destination = reduce.destination;
  std::copy(reduce.sources.begin(), reduce.sources.end(), parameters.sources);
  parameters.rows = reduce.rows;
  parameters.columns = reduce.columns;
  parameters.sourceStride = reduce.sourceStride;
  parameters.count = static_cast<int32_t>(reduce.sources.size());
  return launch(reductions[static_cast<size_t>(reduce.reduction)]
                          [static_cast<size_t>(reduce.dtype)],
                &parameters, reduce.rows * reduce.columns, stream);
}

} // namespace weft::runtime
