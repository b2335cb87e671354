//===- AttentionKernels.h - Attention by tiles ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the kernels are called with. They are compiled once for each set of
// vector registers, hence plain data here and no code: a function that two
// objects share would be taken from any of them.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CPU_ATTENTIONKERNELS_H
#define WEFT_RUNTIME_SRC_CPU_ATTENTIONKERNELS_H

#include <cstddef>
#include <cstdint>

namespace weft::runtime {

/// Element types of queries, keys and values, and the types of their sums.
enum class AttentionElement : uint8_t { F32, BF16, F16, F64 };

struct AttentionSizes {
  int64_t batch = 1, queries = 1, keys = 1, heads = 1, keyHeads = 1,
          headSize = 1;
};

/// Results may be of the type of the sums instead of that of the elements.
struct AttentionResult {
  void *data = nullptr;
  bool isSum = false;
};

struct AttentionArguments {
  AttentionElement element = AttentionElement::F32;
  AttentionSizes sizes;
  bool isCausal = false;
  double scale = 1;
  const void *query = nullptr;
  const void *key = nullptr;
  const void *value = nullptr;
  /// Null: 0.
  const int32_t *diagonal = nullptr;

  // Attention only.
  AttentionResult out;
  void *logsumexp = nullptr;

  // The derivative only: results of the forward pass and their cotangents.
  const void *forwardOut = nullptr;
  const void *forwardLogsumexp = nullptr;
  const void *outCotangent = nullptr;
  /// Null: 0.
  const void *logsumexpCotangent = nullptr;
  AttentionResult queryCotangent, keyCotangent, valueCotangent;
};

/// A part of the work that tasks share without touching each other's results.
struct AttentionPart {
  /// Bytes of working memory of a thread, a multiple of 64.
  size_t scratchBytes = 0;
  int64_t tasks = 0;
  void (*run)(const AttentionArguments &arguments, int64_t task,
              void *scratch) = nullptr;
};

/// The kernels for one set of vector registers. The derivative is one part, or
/// two that do more work in smaller tasks: the first makes the cotangents of
/// the queries, the second the others. Both ways give the same bits.
struct AttentionKernels {
  AttentionPart (*forward)(const AttentionArguments &arguments);
  AttentionPart (*gradAtOnce)(const AttentionArguments &arguments);
  AttentionPart (*gradOfQueries)(const AttentionArguments &arguments);
  AttentionPart (*gradOfKeys)(const AttentionArguments &arguments);
};

extern const AttentionKernels baselineAttentionKernels;
#if defined(__x86_64__)
extern const AttentionKernels avx2AttentionKernels;
extern const AttentionKernels avx512AttentionKernels;
#endif

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CPU_ATTENTIONKERNELS_H
