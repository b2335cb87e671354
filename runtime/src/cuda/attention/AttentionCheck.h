//===- AttentionCheck.h - Whether attention is right ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs an implementation of attention, or of its derivative, and the runtime's
// own on the same random numbers, in memory of its own, and compares. For
// elements of 16 bits.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_ATTENTION_ATTENTIONCHECK_H
#define WEFT_RUNTIME_SRC_CUDA_ATTENTION_ATTENTIONCHECK_H

#include "cpu/AttentionKernels.h"
#include "cuda/platform/Context.h"

#include <functional>
#include <span>

namespace weft::runtime {

/// Computes with these arguments on the context's stream.
using AttentionCandidate =
    std::function<Status(const AttentionArguments &arguments)>;

/// Success, or which result differs by how much. Sizes, mask and scale are
/// those of `arguments`, addresses are not used.
Status checkAttention(const AttentionArguments &arguments,
                      const CudaContext &context,
                      const AttentionCandidate &candidate);
Status checkAttentionGrad(const AttentionArguments &arguments,
                          const CudaContext &context,
                          const AttentionCandidate &candidate);

/// Fails if a number of `found` is none, or farther from the expected one than
/// `tolerance` times the largest.
Status compareResults(std::string_view name, std::span<const float> found,
                      std::span<const float> expected, float tolerance);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_ATTENTION_ATTENTIONCHECK_H
