// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<4x8xf32>) {
  // expected-remark @below {{([j, i])->([i]) {i=8, j=4} reduction={j}, linear}}
  %0 = weft.reduce sum %x dims = [0] : tensor<4x8xf32> -> tensor<8xf32>
  // A maximum does not commute with a sum.
  // expected-remark @below {{([i, j])->([]) {i=4, j=8} reduction={i, j}, not linear}}
  %1 = weft.reduce max %x dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return
}
