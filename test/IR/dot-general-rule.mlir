// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%a: tensor<4x8x16xf32>, %b: tensor<4x16x32xf32>, %m: tensor<8x16xf32>, %n: tensor<32x16xf32>) {
  // expected-remark @below {{([i, k], [j, k])->([i, j]) {i=8, j=32, k=16} reduction={k}, linear in one}}
  %0 = weft.dot_general %m, %n contracting = [1] x [1] : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
  // expected-remark @below {{([i, j, l], [i, l, k])->([i, j, k]) {i=4, j=8, k=32, l=16} reduction={l}, linear in one}}
  %1 = weft.dot_general %a, %b batching = [0] x [0] contracting = [2] x [1] : (tensor<4x8x16xf32>, tensor<4x16x32xf32>) -> tensor<4x8x32xf32>
  // A scalar result: only contracting factors.
  // expected-remark @below {{([i, k, j], [i, k, j])->([]) {i=4, j=16, k=8} reduction={i, j, k}, linear in one}}
  %2 = weft.dot_general %a, %a contracting = [0, 2, 1] x [0, 2, 1] : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<f32>
  return
}
