//===- AttentionParameters.h - What kernels are launched with ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one parameter of the attention kernels, by value, for both compilers.
// Addresses are those of the device. Grids have one dimension:
//
//   weft_attention                a block for each tile of queries of each head
//   weft_attention_grad_queries   the same; also writes `delta`
//   weft_attention_grad_keys      a block for each tile of keys of each head of
//                                 keys, after the other
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_ATTENTION_KERNELS_ATTENTIONPARAMETERS_H
#define WEFT_RUNTIME_SRC_CUDA_ATTENTION_KERNELS_ATTENTIONPARAMETERS_H

#include <stdint.h>

namespace weft::runtime {

/// Head sizes that there are kernels for; other heads take the next larger.
constexpr int attentionHeadSizes[] = {64, 128, 256};
/// Threads of a block, in a square.
constexpr int attentionThreadsAcross = 16;
constexpr int attentionThreads =
    attentionThreadsAcross * attentionThreadsAcross;

/// Rows of queries and keys that a block of threads works on at once, for sums
/// of so many bytes.
constexpr int attentionTile(int sumBytes) { return sumBytes == 4 ? 64 : 32; }

/// A result of the type of the elements, or of the sums.
struct AttentionResultPointer {
  void *data;
  int32_t isSum;
};

struct AttentionParameters {
  const void *query, *key, *value;
  /// Null: 0.
  const int32_t *diagonal;
  int32_t batch, queries, keys, heads, keyHeads, headSize;
  int32_t isCausal;
  double scale;

  // Attention only.
  AttentionResultPointer out;
  void *logsumexp;

  // The derivative only.
  const void *forwardOut, *forwardLogsumexp, *outCotangent;
  /// Null: 0.
  const void *logsumexpCotangent;
  /// Working memory: a sum for each query of each head.
  void *delta;
  AttentionResultPointer queryCotangent, keyCotangent, valueCotangent;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_ATTENTION_KERNELS_ATTENTIONPARAMETERS_H
