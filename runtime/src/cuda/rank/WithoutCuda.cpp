//===- WithoutCuda.cpp - Plans for GPUs in a build without CUDA -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/rank/CudaRanks.h"

namespace weft::runtime {

Result<std::unique_ptr<RankSet>> createCudaRanks(const RankRequest &) {
  return unimplemented("the plan is for target \"cuda\", but this runtime was "
                       "built without CUDA; build it where there is a toolkit "
                       "of CUDA 13, with -DWEFT_CUDA=ON");
}

} // namespace weft::runtime
