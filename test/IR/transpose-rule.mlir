// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<2x4x8xf32>) {
  // expected-remark @below {{([j, k, i])->([i, j, k]) {i=8, j=2, k=4}, linear}}
  %0 = weft.transpose %x dims = [2, 0, 1] : tensor<2x4x8xf32> -> tensor<8x2x4xf32>
  return
}
