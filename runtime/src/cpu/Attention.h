//===- Attention.h - Attention on a CPU -------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention and its derivative, by tiles: memory beside the tensors is that of
// a few tiles a thread. The kernels are built for several sets of vector
// registers; the widest that the machine has is taken.
//
// The team computes what is bound, and outlives it. Results do not depend on
// its size.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CPU_ATTENTION_H
#define WEFT_RUNTIME_SRC_CPU_ATTENTION_H

#include "cpu/AttentionKernels.h"
#include "cpu/BoundOperation.h"

#include <memory>

namespace weft::runtime {

/// The kernels for the widest vectors that this machine has.
const AttentionKernels &attentionKernelsHere();

class ThreadTeam;

/// The derivative is computed at once while what a thread then needs stays in
/// its second cache, and there is work for all.
enum class GradPasses : uint8_t { Best, One, Two };

std::unique_ptr<BoundOperation>
bindAttention(const AttentionArguments &arguments, ThreadTeam &team,
              const AttentionKernels &kernels = attentionKernelsHere());

std::unique_ptr<BoundOperation>
bindAttentionGrad(const AttentionArguments &arguments, ThreadTeam &team,
                  const AttentionKernels &kernels = attentionKernelsHere(),
                  GradPasses passes = GradPasses::Best);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CPU_ATTENTION_H
