// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%u: tensor<4x3x8xf32>, %i: tensor<4x3xi32>) {
  // What is not in the result is summed over.
  // expected-remark @below {{([k, l, j], [k, l])->([i, j]) {i=50, j=8, k=4, l=3} reduction={k, l}, linear in first}}
  %0 = weft.scatter_add %u, %i dim = 0 : (tensor<4x3x8xf32>, tensor<4x3xi32>) -> tensor<50x8xf32>
  // expected-remark @below {{([i, l, k], [i, l])->([i, j, k]) {i=4, j=50, k=8, l=3} reduction={l}, linear in first}}
  %1 = weft.scatter_add %u, %i dim = 1 batching = [0] x [0] : (tensor<4x3x8xf32>, tensor<4x3xi32>) -> tensor<4x50x8xf32>
  return
}
