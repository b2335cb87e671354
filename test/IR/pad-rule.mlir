// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<4x8xf32>) {
  // Only a dimension that keeps its size is shared.
  // expected-remark @below {{([i, k])->([i, j]) {i=4, j=11, k=8} permutation={j, k}, linear}}
  %0 = weft.pad %x low = [0, 1] high = [0, 2] interior = [0, 0] value = 0.0 : f32 : tensor<4x8xf32> -> tensor<4x11xf32>
  // Terms padded with another value than zero would add it up.
  // expected-remark @below {{([i, k])->([i, j]) {i=4, j=11, k=8} permutation={j, k}, not linear}}
  %1 = weft.pad %x low = [0, 1] high = [0, 2] interior = [0, 0] value = 1.0 : f32 : tensor<4x8xf32> -> tensor<4x11xf32>
  return
}
