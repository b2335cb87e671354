//===- CudaRanks.h - The ranks of a plan for GPUs ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The way from a session into the part of the runtime that knows CUDA. This
// header is of every build; without CUDA the function says so.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_RANK_CUDARANKS_H
#define WEFT_RUNTIME_SRC_CUDA_RANK_CUDARANKS_H

#include "executor/Rank.h"

namespace weft::runtime {

/// The ranks of a plan for "cuda" that are threads of this process, if there is
/// a device that executes it; they are not yet initialized.
Result<std::unique_ptr<RankSet>> createCudaRanks(const RankRequest &request);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_RANK_CUDARANKS_H
