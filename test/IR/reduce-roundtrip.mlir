// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<4x8xf32>) {
  // CHECK: weft.reduce sum %{{.*}} dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %r0 = weft.reduce sum %x dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  // CHECK: weft.reduce max %{{.*}} dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %r1 = weft.reduce max %x dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  // CHECK: weft.reduce min %{{.*}} dims = [] : tensor<4x8xf32> -> tensor<4x8xf32>
  %r2 = weft.reduce min %x dims = [] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
