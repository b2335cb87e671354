// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<2x8xf32>, %y: tensor<3x8xf32>) {
  // expected-remark @below {{([k, j], [l, j])->([i, j]) {i=5, j=8, k=2, l=3} need_replication={i, k, l}, linear}}
  %0 = weft.concat %x, %y dim = 0 : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
  // One operand: nothing is joined.
  // expected-remark @below {{([i, j])->([i, j]) {i=2, j=8}, linear}}
  %1 = weft.concat %x dim = 0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}
