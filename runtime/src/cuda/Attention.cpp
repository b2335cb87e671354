//===- Attention.cpp - Attention on a GPU -----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/Attention.h"

namespace weft::runtime {

Result<std::unique_ptr<CudaOperation>>
bindCudaAttention(const AttentionArguments &arguments,
                  const CudaContext &context) {
  return bindTiledAttention(arguments, context.cudart);
}

Result<std::unique_ptr<CudaOperation>>
bindCudaAttentionGrad(const AttentionArguments &arguments,
                      const CudaContext &context) {
  return bindTiledAttentionGrad(arguments, context.cudart);
}

} // namespace weft::runtime
