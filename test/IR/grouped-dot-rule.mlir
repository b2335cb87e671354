// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<2x32x8xf32>, %w: tensor<4x8x16xf32>, %s: tensor<2x4xi32>) {
  // expected-remark @below {{([i, j, k], [m, k, l], [i, m])->([i, j, l]) {i=2, j=32, k=8, l=16, m=4} reduction={k} need_replication={j, m}}}
  %r = weft.grouped_dot %x, %w groups %s : (tensor<2x32x8xf32>, tensor<4x8x16xf32>, tensor<2x4xi32>) -> tensor<2x32x16xf32>
  // expected-remark @below {{([i, j, k], [m, l, k], [i, m])->([i, j, l]) {i=2, j=32, k=16, l=8, m=4} reduction={k} need_replication={j, m}}}
  %t = weft.grouped_dot %r, %w groups %s transposed : (tensor<2x32x16xf32>, tensor<4x8x16xf32>, tensor<2x4xi32>) -> tensor<2x32x8xf32>
  // expected-remark @below {{([i, j, k], [i, j, l], [i, m])->([m, k, l]) {i=2, j=32, k=8, l=16, m=4} reduction={i} need_replication={j, m}}}
  %g = weft.grouped_outer %x, %r groups %s : (tensor<2x32x8xf32>, tensor<2x32x16xf32>, tensor<2x4xi32>) -> tensor<4x8x16xf32>
  return
}
