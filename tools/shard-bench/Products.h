//===- Products.h - Times matmuls and attention -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime computes itself, through the functions that bind an
// instruction of a plan to memory. One thread, random data.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_BENCH_PRODUCTS_H
#define WEFT_TOOLS_SHARD_BENCH_PRODUCTS_H

#include "Measure.h"

#include "weft/runtime/DType.h"

#include <string>

namespace weft::tools {

struct GemmShape {
  int64_t m = 1, n = 1, k = 1;
  runtime::DType dtype = runtime::DType::F32;
  /// Which operands lie as their transpose: "nn", "tn", "nt".
  std::string layout = "nn";

  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
  }
};

runtime::Result<Timing> timeGemm(const GemmShape &shape, double seconds);

struct AttentionShape {
  int64_t batch = 1, positions = 1, heads = 1, keyHeads = 1, headSize = 64;
  bool isBackward = false;

  /// Of the pairs that the causal mask leaves: two products forward, five
  /// backward.
  double flops() const;
};

runtime::Result<Timing> timeAttention(const AttentionShape &shape,
                                      double seconds);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_BENCH_PRODUCTS_H
