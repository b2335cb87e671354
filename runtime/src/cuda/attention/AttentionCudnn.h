//===- AttentionCudnn.h - Attention by cuDNN --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuDNN's fused attention for 16-bit elements. Releases of it have given
// numbers that are none for some shapes on some processors, so a shape is used
// only after its results agreed with those of the runtime's own kernels, at
// load, on random numbers. Every failure is an error here and a note for the
// user; the caller has the own kernels.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_ATTENTION_ATTENTIONCUDNN_H
#define WEFT_RUNTIME_SRC_CUDA_ATTENTION_ATTENTIONCUDNN_H

#include "cpu/AttentionKernels.h"
#include "cuda/platform/Context.h"
#include "cuda/platform/Operation.h"

#include <memory>

namespace weft::runtime {

/// context.cudnn is not null.
Result<std::unique_ptr<CudaOperation>>
bindCudnnAttention(const AttentionArguments &arguments,
                   const CudaContext &context);
Result<std::unique_ptr<CudaOperation>>
bindCudnnAttentionGrad(const AttentionArguments &arguments,
                       const CudaContext &context);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_ATTENTION_ATTENTIONCUDNN_H
