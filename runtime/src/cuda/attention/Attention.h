//===- Attention.h - Attention on a GPU -------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention and its derivative, of the same definitions as cpu/Attention.h;
// addresses are those of the device. cuDNN computes them where it can and has
// shown at load that it gives the right numbers (AttentionCudnn.h); otherwise
// the runtime's own kernels do (kernels/Attention.cu), whose GEMMs use no
// tensor cores. Results are the same in every run.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_ATTENTION_ATTENTION_H
#define WEFT_RUNTIME_SRC_CUDA_ATTENTION_ATTENTION_H

#include "cpu/AttentionKernels.h"
#include "cuda/platform/Context.h"
#include "cuda/platform/Operation.h"

#include <memory>

namespace weft::runtime {

/// The best implementation in this process. An error where there is none.
Result<std::unique_ptr<CudaOperation>>
bindCudaAttention(const AttentionArguments &arguments,
                  const CudaContext &context);
Result<std::unique_ptr<CudaOperation>>
bindCudaAttentionGrad(const AttentionArguments &arguments,
                      const CudaContext &context);

/// The runtime's own kernels.
Result<std::unique_ptr<CudaOperation>>
bindTiledAttention(const AttentionArguments &arguments, const Cudart &cudart);
Result<std::unique_ptr<CudaOperation>>
bindTiledAttentionGrad(const AttentionArguments &arguments,
                       const Cudart &cudart);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_ATTENTION_ATTENTION_H
