// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<8xf32>, %y: tensor<1x8xf32>, %s: tensor<f32>) {
  // CHECK: weft.broadcast %{{.*}} dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %r0 = weft.broadcast %x dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  // CHECK: weft.broadcast %{{.*}} dims = [0, 1] : tensor<1x8xf32> -> tensor<4x8xf32>
  %r1 = weft.broadcast %y dims = [0, 1] : tensor<1x8xf32> -> tensor<4x8xf32>
  // CHECK: weft.broadcast %{{.*}} dims = [] : tensor<f32> -> tensor<4x8xf32>
  %r2 = weft.broadcast %s dims = [] : tensor<f32> -> tensor<4x8xf32>
  return
}
