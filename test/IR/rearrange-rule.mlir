// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<4x6xf32>, %y: tensor<4x3xf32>) {
  // expected-remark @below {{([i, k], [i, l])->([i, j]) {i=4, j=10, k=6, l=3} need_replication={j, k, l}, linear}}
  %0 = weft.rearrange %x, %y dim = 1 map <[6, 3] to [10], 0 to 2 for 5, 6 to 7 for 2> value = 0.0 : f32 : (tensor<4x6xf32>, tensor<4x3xf32>) -> tensor<4x10xf32>
  // A sum over devices would have the value as often as there are devices.
  // expected-remark @below {{([i, k])->([i, j]) {i=4, j=10, k=6} need_replication={j, k}}}
  %1 = weft.rearrange %x dim = 1 map <[6] to [10], 0 to 2 for 5> value = 1.0 : f32 : (tensor<4x6xf32>) -> tensor<4x10xf32>
  return
}
