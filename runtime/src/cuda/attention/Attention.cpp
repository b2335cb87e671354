//===- Attention.cpp - Attention on a GPU -----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/attention/Attention.h"

#include "cuda/attention/AttentionCudnn.h"

#include <fmt/format.h>

namespace weft::runtime {

namespace {
using Bind = Result<std::unique_ptr<CudaOperation>>(const AttentionArguments &,
                                                    const CudaContext &);
} // namespace

/// By cuDNN, or none, with a note that says why. An error if the device has
/// not come back from the trial.
static Result<std::unique_ptr<CudaOperation>>
bindCudnn([[maybe_unused]] Bind *bind, std::string_view what,
          [[maybe_unused]] const AttentionArguments &arguments,
          const CudaContext &context) {
  std::string reason = context.whyNoCudnn;
#if WEFT_HAS_CUDNN
  if (context.cudnn) {
    Result<std::unique_ptr<CudaOperation>> bound = bind(arguments, context);
    if (bound.ok())
      return bound;
    if (context.waitFailed)
      return bound.status();
    reason = bound.status().message();
  }
#endif
  context.note(fmt::format("{} is not by cuDNN but by the runtime's kernels, "
                           "which are slower: {}",
                           what, reason));
  return std::unique_ptr<CudaOperation>();
}

#if WEFT_HAS_CUDNN
static constexpr Bind *cudnnAttention = bindCudnnAttention;
static constexpr Bind *cudnnAttentionGrad = bindCudnnAttentionGrad;
#else
static constexpr Bind *cudnnAttention = nullptr, *cudnnAttentionGrad = nullptr;
#endif

Result<std::unique_ptr<CudaOperation>>
bindCudaAttention(const AttentionArguments &arguments,
                  const CudaContext &context) {
  WEFT_ASSIGN_OR_RETURN(
      std::unique_ptr<CudaOperation> bound,
      bindCudnn(cudnnAttention, "attention", arguments, context));
  if (bound)
    return bound;
  return bindTiledAttention(arguments, context.cudart);
}

Result<std::unique_ptr<CudaOperation>>
bindCudaAttentionGrad(const AttentionArguments &arguments,
                      const CudaContext &context) {
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<CudaOperation> bound,
                        bindCudnn(cudnnAttentionGrad,
                                  "the derivative of attention", arguments,
                                  context));
  if (bound)
    return bound;
  return bindTiledAttentionGrad(arguments, context.cudart);
}

} // namespace weft::runtime
