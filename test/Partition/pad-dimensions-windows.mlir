// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate --weft-pad-dimensions | FileCheck %s

// Arguments have zeros behind the last element. Padded are what windows are of and the windows, each to what axes divide. What
// lies behind the last element adds nothing, and the padding of the op grows or
// shrinks to as many windows.

weft.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @convolution
// CHECK-SAME:    tensor<2x16x3xf32>
// CHECK-NEXT:    weft.convolution %arg0, %arg1 strides = [2] low = [1] high = [0] {{.*}} -> tensor<2x8x4xf32>
func.func @convolution(%x: tensor<2x15x3xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {}]>}, %w: tensor<3x3x4xf32>) -> tensor<2x8x4xf32> {
  %r = weft.convolution %x, %w strides = [2] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] groups = 1 : (tensor<2x15x3xf32>, tensor<3x3x4xf32>) -> tensor<2x8x4xf32>
  return %r : tensor<2x8x4xf32>
}

// CHECK-LABEL: func.func @maximum
// CHECK:         %[[X:.*]] = weft.mask_padding {{.*}} dim = 1 size = 15 value = 0xFF800000
// CHECK:         weft.reduce_window max %[[X]] dim = 1 size = 3 stride = 2 dilation = 1 {high = 1 : i64, {{.*}} -> tensor<2x8x3xf32>
func.func @maximum(%x: tensor<2x15x3xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {}]>}) -> tensor<2x7x3xf32> {
  %r = weft.reduce_window max %x dim = 1 size = 3 stride = 2 dilation = 1 : tensor<2x15x3xf32> -> tensor<2x7x3xf32>
  return %r : tensor<2x7x3xf32>
}
