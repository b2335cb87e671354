// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<4x8xf32>, %y: tensor<32xf32>) {
  // expected-remark @below {{([i, j])->([ij]) {i=4, j=8}, linear}}
  %0 = weft.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  // expected-remark @below {{([ij])->([i, j]) {i=2, j=16}, linear}}
  %1 = weft.reshape %y : tensor<32xf32> -> tensor<2x16xf32>
  return
}
