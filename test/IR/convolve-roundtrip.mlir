// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s | shard-opt | FileCheck %s
// RUN: shard-opt %s --mlir-print-op-generic | shard-opt | FileCheck %s

// CHECK-LABEL: @one_dimension
func.func @one_dimension(%x: tensor<4x16x3xf32>, %w: tensor<3x3x8xf32>) -> tensor<4x8x8xf32> {
  // CHECK: weft.convolve %{{.*}}, %{{.*}} groups = 1 batch = 4 input_features = 3 output_features = 8 [16] by [3] to [8] strides = [2] low = [1] lhs_dilation = [1] rhs_dilation = [1] layouts = [3, 48, 1, 3] x [8, 8, 1, 24] -> [8, 64, 1, 8] : (tensor<4x16x3xf32>, tensor<3x3x8xf32>) -> tensor<4x8x8xf32>
  %r = weft.convolve %x, %w groups = 1 batch = 4 input_features = 3 output_features = 8
      [16] by [3] to [8] strides = [2] low = [1] lhs_dilation = [1] rhs_dilation = [1]
      layouts = [3, 48, 1, 3] x [8, 8, 1, 24] -> [8, 64, 1, 8]
      : (tensor<4x16x3xf32>, tensor<3x3x8xf32>) -> tensor<4x8x8xf32>
  return %r : tensor<4x8x8xf32>
}

// CHECK-LABEL: @none
func.func @none(%x: tensor<4x6xf32>, %w: tensor<3x8xf32>) -> tensor<4x8xf32> {
  // CHECK: weft.convolve %{{.*}} groups = 2 batch = 4 input_features = 3 output_features = 4 [] by [] to []
  %r = weft.convolve %x, %w groups = 2 batch = 4 input_features = 3 output_features = 4 [] by [] to []
      strides = [] low = [] lhs_dilation = [] rhs_dilation = []
      layouts = [3, 6, 1] x [4, 8, 1] -> [4, 8, 1]
      : (tensor<4x6xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
