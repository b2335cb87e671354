// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<4x8xf32>) {
  // CHECK: weft.slice %{{.*}} starts = [0, 2] limits = [4, 8] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x6xf32>
  %r0 = weft.slice %x starts = [0, 2] limits = [4, 8] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x6xf32>
  // CHECK: weft.slice %{{.*}} starts = [0, 1] limits = [4, 8] strides = [3, 2] : tensor<4x8xf32> -> tensor<2x4xf32>
  %r1 = weft.slice %x starts = [0, 1] limits = [4, 8] strides = [3, 2] : tensor<4x8xf32> -> tensor<2x4xf32>
  return
}
