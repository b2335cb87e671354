// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<4x16x3xf32>, %w: tensor<3x3x8xf32>, %y: tensor<2x5x6x4xbf16>, %k: tensor<3x2x2x6xbf16>, %z: tensor<3x4xf64>, %m: tensor<4x5xf64>) {
  // CHECK: weft.convolution %{{.*}}, %{{.*}} strides = [2] low = [1] high = [-1] lhs_dilation = [1] rhs_dilation = [1] groups = 1 : (tensor<4x16x3xf32>, tensor<3x3x8xf32>) -> tensor<4x7x8xf32>
  %r0 = weft.convolution %x, %w strides = [2] low = [1] high = [-1] lhs_dilation = [1] rhs_dilation = [1] groups = 1 : (tensor<4x16x3xf32>, tensor<3x3x8xf32>) -> tensor<4x7x8xf32>
  // CHECK: weft.convolution %{{.*}}, %{{.*}} strides = [1, 2] low = [0, 0] high = [0, 0] lhs_dilation = [2, 1] rhs_dilation = [2, 3] groups = 2 : (tensor<2x5x6x4xbf16>, tensor<3x2x2x6xbf16>) -> tensor<2x5x2x6xf32>
  %r1 = weft.convolution %y, %k strides = [1, 2] low = [0, 0] high = [0, 0] lhs_dilation = [2, 1] rhs_dilation = [2, 3] groups = 2 : (tensor<2x5x6x4xbf16>, tensor<3x2x2x6xbf16>) -> tensor<2x5x2x6xf32>
  // CHECK: weft.convolution %{{.*}}, %{{.*}} strides = [] low = [] high = [] lhs_dilation = [] rhs_dilation = [] groups = 1 : (tensor<3x4xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>
  %r2 = weft.convolution %z, %m strides = [] low = [] high = [] lhs_dilation = [] rhs_dilation = [] groups = 1 : (tensor<3x4xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>
  return
}
