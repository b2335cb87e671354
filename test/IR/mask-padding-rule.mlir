// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<4x8xf32>) {
  // expected-remark @below {{([i, j])->([i, j]) {i=4, j=8}, linear}}
  %0 = weft.mask_padding %x dim = 1 size = 6 value = 0.0 : f32 : tensor<4x8xf32>
  // A sum over devices would have the value as often as there are devices.
  // expected-remark @below {{([i, j])->([i, j]) {i=4, j=8}, not linear}}
  %1 = weft.mask_padding %x dim = 1 size = 6 value = 1.0 : f32 : tensor<4x8xf32>
  return
}
