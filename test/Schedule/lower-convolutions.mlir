// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-lower-convolutions | FileCheck %s

// The documented example: images are read, and results written, where they are.
// CHECK-LABEL: @features_first
// CHECK-SAME: %[[X:.*]]: tensor<4x16x3xf32>, %[[W:.*]]: tensor<3x3x8xf32>
func.func @features_first(%x: tensor<4x16x3xf32>, %w: tensor<3x3x8xf32>) -> tensor<4x8x8xf32> {
  // CHECK-NEXT: %[[R:.*]] = weft.convolve %[[X]], %[[W]] groups = 1 batch = 4 input_features = 3 output_features = 8 [16] by [3] to [8] strides = [2] low = [1] lhs_dilation = [1] rhs_dilation = [1] layouts = [3, 48, 1, 3] x [{{[0-9]+}}, 8, 1, 24] -> [8, 64, 1, 8]
  // CHECK-NEXT: return %[[R]]
  %r = weft.convolution %x, %w strides = [2] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] groups = 1
      : (tensor<4x16x3xf32>, tensor<3x3x8xf32>) -> tensor<4x8x8xf32>
  return %r : tensor<4x8x8xf32>
}

// The derivative by a kernel: its batch is the features of the images.
// CHECK-LABEL: @of_kernel
// CHECK-SAME: %[[X:.*]]: tensor<4x16x3xf32>, %[[G:.*]]: tensor<4x16x8xf32>
func.func @of_kernel(%x: tensor<4x16x3xf32>, %g: tensor<4x16x8xf32>) -> tensor<3x3x8xf32> {
  // CHECK-NEXT: %[[R:.*]] = weft.convolve %[[X]], %[[G]] groups = 1 batch = 3 input_features = 4 output_features = 8 [16] by [16] to [3] strides = [1] low = [1] lhs_dilation = [1] rhs_dilation = [1] layouts = [{{[0-9]+}}, 1, 48, 3] x [{{[0-9]+}}, 128, 1, 8] -> [8, 8, 1, 24] : (tensor<4x16x3xf32>, tensor<4x16x8xf32>) -> tensor<3x3x8xf32>
  // CHECK-NEXT: return %[[R]]
  %a = weft.transpose %x dims = [2, 1, 0] : tensor<4x16x3xf32> -> tensor<3x16x4xf32>
  %b = weft.transpose %g dims = [1, 0, 2] : tensor<4x16x8xf32> -> tensor<16x4x8xf32>
  %r = weft.convolution %a, %b strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] groups = 1
      : (tensor<3x16x4xf32>, tensor<16x4x8xf32>) -> tensor<3x3x8xf32>
  %t = weft.transpose %r dims = [1, 0, 2] : tensor<3x3x8xf32> -> tensor<3x3x8xf32>
  return %t : tensor<3x3x8xf32>
}

// Images whose features are apart are moved: neither these nor the batch would be in rows.
// CHECK-LABEL: @features_apart
func.func @features_apart(%x: tensor<4x3x16x16xf32>, %w: tensor<3x3x3x8xf32>) -> tensor<4x8x14x14xf32> {
  // CHECK: %[[T:.*]] = weft.transpose %{{.*}} dims = [0, 2, 3, 1]
  // CHECK: %[[R:.*]] = weft.convolve %[[T]]
  // CHECK: weft.transpose %[[R]] dims = [0, 3, 1, 2]
  %t = weft.transpose %x dims = [0, 2, 3, 1] : tensor<4x3x16x16xf32> -> tensor<4x16x16x3xf32>
  %r = weft.convolution %t, %w strides = [1, 1] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 1
      : (tensor<4x16x16x3xf32>, tensor<3x3x3x8xf32>) -> tensor<4x14x14x8xf32>
  %s = weft.transpose %r dims = [0, 3, 1, 2] : tensor<4x14x14x8xf32> -> tensor<4x8x14x14xf32>
  return %s : tensor<4x8x14x14xf32>
}

// CHECK-LABEL: @groups_apart
func.func @groups_apart(%x: tensor<4x16x2x3xf32>, %w: tensor<3x3x8xf32>) -> tensor<4x14x8xf32> {
  // CHECK: weft.convolve {{.*}} groups = 2 batch = 4 input_features = 3 output_features = 4 {{.*}} layouts = [3, 96, 1, 6] x [4, 8, 1, 24] -> [4, 112, 1, 8]
  %r = weft.convolution %x, %w strides = [1] low = [0] high = [0] lhs_dilation = [1] rhs_dilation = [1] groups = 2
      : (tensor<4x16x2x3xf32>, tensor<3x3x8xf32>) -> tensor<4x14x8xf32>
  return %r : tensor<4x14x8xf32>
}
