// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%t: tensor<50x8xf32>, %x: tensor<4x50x8xf32>, %m: tensor<50xi1>, %i: tensor<4x3xi32>) {
  // A device with a part of the rows has zeros for the others.
  // expected-remark @below {{([l, k], [i, j])->([i, j, k]) {i=4, j=3, k=8, l=50} reduction={l}, linear in first}}
  %0 = weft.gather %t, %i dim = 0 : (tensor<50x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xf32>
  // expected-remark @below {{([i, l, k], [i, j])->([i, j, k]) {i=4, j=3, k=8, l=50} reduction={l}, linear in first}}
  %1 = weft.gather %x, %i dim = 1 batching = [0] x [0] : (tensor<4x50x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xf32>
  // There is no sum of i1.
  // expected-remark @below {{([k], [i, j])->([i, j]) {i=4, j=3, k=50} need_replication={k}, linear in first}}
  %2 = weft.gather %m, %i dim = 0 : (tensor<50xi1>, tensor<4x3xi32>) -> tensor<4x3xi1>
  return
}
