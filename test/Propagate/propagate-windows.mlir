// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate | FileCheck %s

// A split of what windows are of splits the windows, as long as each device has
// one.

weft.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @layers
// CHECK:         weft.convolution {{.*}}[{}, {"x"}, {}]
// CHECK:         weft.reduce_window {{.*}}[{}, {"x"}, {}]
// CHECK:         weft.reduce_window {{.*}}[{}, {}, {}]
func.func @layers(%x: tensor<2x16x3xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {}]>}, %w: tensor<3x3x4xf32>) -> tensor<2x2x4xf32> {
  %0 = weft.convolution %x, %w strides = [2] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] groups = 1 : (tensor<2x16x3xf32>, tensor<3x3x4xf32>) -> tensor<2x8x4xf32>
  %1 = weft.reduce_window max %0 dim = 1 size = 2 stride = 2 dilation = 1 : tensor<2x8x4xf32> -> tensor<2x4x4xf32>
  %2 = weft.reduce_window max %1 dim = 1 size = 2 stride = 2 dilation = 1 : tensor<2x4x4xf32> -> tensor<2x2x4xf32>
  return %2 : tensor<2x2x4xf32>
}
