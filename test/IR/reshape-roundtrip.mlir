// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<4x8xf32>, %s: tensor<1x1xi32>) {
  // CHECK: weft.reshape %{{.*}} : tensor<4x8xf32> -> tensor<32xf32>
  %r0 = weft.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  // CHECK: weft.reshape %{{.*}} : tensor<4x8xf32> -> tensor<2x2x1x8xf32>
  %r1 = weft.reshape %x : tensor<4x8xf32> -> tensor<2x2x1x8xf32>
  // CHECK: weft.reshape %{{.*}} : tensor<1x1xi32> -> tensor<i32>
  %r2 = weft.reshape %s : tensor<1x1xi32> -> tensor<i32>
  return
}
