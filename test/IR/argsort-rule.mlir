// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<2x64x8xf32>) {
  // expected-remark @below {{([i, j, k])->([i, j, k]) {i=2, j=64, k=8} need_replication={j}}}
  %r = weft.argsort %x dim = 1 : tensor<2x64x8xf32> -> tensor<2x64x8xi32>
  // expected-remark @below {{([i, j, l])->([i, k, l]) {i=2, j=64, k=5, l=8} need_replication={j, k}}}
  %s = weft.argsort %x dim = 1 descending : tensor<2x64x8xf32> -> tensor<2x5x8xi32>
  return
}
