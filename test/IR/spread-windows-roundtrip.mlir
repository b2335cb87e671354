// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s | shard-opt | FileCheck %s

// CHECK-LABEL: func.func @f
func.func @f(%g: tensor<4x4x3xf32>, %x: tensor<4x8x3xf32>, %m: tensor<4x4x3xf32>) -> (tensor<4x8x3xf32>, tensor<4x7x3xf32>) {
  // CHECK: weft.spread_windows %{{.*}} of %{{.*}}, %{{.*}} dim = 1 size = 2 stride = 2 dilation = 1 : (tensor<4x4x3xf32>, tensor<4x8x3xf32>, tensor<4x4x3xf32>) -> tensor<4x8x3xf32>
  %0 = weft.spread_windows %g of %x, %m dim = 1 size = 2 stride = 2 dilation = 1 : (tensor<4x4x3xf32>, tensor<4x8x3xf32>, tensor<4x4x3xf32>) -> tensor<4x8x3xf32>
  // CHECK: weft.spread_windows %{{.*}} dim = 1 size = 3 stride = 2 dilation = 1 {high = 1 : i64, low = 1 : i64} : (tensor<4x4x3xf32>) -> tensor<4x7x3xf32>
  %1 = weft.spread_windows %g dim = 1 size = 3 stride = 2 dilation = 1 {low = 1 : i64, high = 1 : i64} : (tensor<4x4x3xf32>) -> tensor<4x7x3xf32>
  return %0, %1 : tensor<4x8x3xf32>, tensor<4x7x3xf32>
}
