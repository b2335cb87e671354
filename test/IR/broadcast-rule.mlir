// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<8xf32>, %y: tensor<1x8xf32>, %s: tensor<f32>) {
  // The new dimension is the result's only.
  // expected-remark @below {{([j])->([i, j]) {i=4, j=8}, linear}}
  %0 = weft.broadcast %x dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  // A repeated dimension has a factor of size 1.
  // expected-remark @below {{([k, j])->([i, j]) {i=4, j=8, k=1}, linear}}
  %1 = weft.broadcast %y dims = [0, 1] : tensor<1x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{([])->([i, j]) {i=4, j=8}, linear}}
  %2 = weft.broadcast %s dims = [] : tensor<f32> -> tensor<4x8xf32>
  return
}
