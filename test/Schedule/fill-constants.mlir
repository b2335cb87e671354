// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-fill-constants | FileCheck %s

// The documented example: two momenta start with zeros.
// CHECK-LABEL: @init
func.func @init() -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
  // CHECK: %[[A:.*]] = weft.broadcast %[[ZERO]] dims = [] : tensor<f32> -> tensor<4x8xf32>
  // CHECK: %[[B:.*]] = weft.broadcast %{{.*}} dims = [] : tensor<f32> -> tensor<4x8xf32>
  // CHECK: return %[[A]], %[[B]]
  %c = arith.constant dense<0.0> : tensor<4x8xf32>
  return %c, %c : tensor<4x8xf32>, tensor<4x8xf32>
}

// Also where the broadcast was there before.
// CHECK-LABEL: @broadcast
func.func @broadcast() -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK-COUNT-2: weft.broadcast
  %c = arith.constant dense<0.0> : tensor<f32>
  %z = weft.broadcast %c dims = [] : tensor<f32> -> tensor<4x8xf32>
  return %z, %z : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: @product
func.func @product(%x: tensor<4x8xf32>) -> tensor<4x2xf32> {
  // CHECK: %[[ONES:.*]] = weft.broadcast
  // CHECK: weft.gemm %{{.*}}, %[[ONES]]
  %c = arith.constant dense<1.0> : tensor<8x2xf32>
  %r = weft.gemm %x, %c batch = 1 m = 4 n = 2 k = 8
      strides = [32, 8, 1] x [16, 2, 1] -> [8, 2, 1]
      : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// Kernels have constants inside; scalars and other contents stay.
// CHECK-LABEL: @unchanged
func.func @unchanged(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>, tensor<2xf32>) {
  // CHECK-NOT: weft.broadcast
  %c = arith.constant dense<1.0> : tensor<4xf32>
  %r = arith.addf %x, %c : tensor<4xf32>
  %s = arith.constant dense<1.0> : tensor<f32>
  %t = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %r, %s, %t : tensor<4xf32>, tensor<f32>, tensor<2xf32>
}
