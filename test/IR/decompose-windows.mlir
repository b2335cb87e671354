// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-decompose --split-input-file | FileCheck %s

// A slice for each place in the kernel.

// CHECK-LABEL: func.func @convolution(
// CHECK: %[[PADDED:.*]] = weft.pad %arg0 low = [0, 1, 0] high = [0, 0, 0]
// CHECK: weft.slice %[[PADDED]] starts = [0, 0, 0] limits = [4, 8, 3] strides = [1, 1, 1]
// CHECK: weft.slice %[[PADDED]] starts = [0, 1, 0] limits = [4, 9, 3] strides = [1, 1, 1]
// CHECK: %[[WINDOWS:.*]] = weft.concat {{.*}} dim = 2 : {{.*}} -> tensor<4x8x2x3xbf16>
// CHECK: weft.dot_general %[[WINDOWS]], %arg1 contracting = [2, 3] x [0, 1] {accumulation_type = f32}
func.func @convolution(%x: tensor<4x8x3xbf16>, %w: tensor<2x3x5xbf16>) -> tensor<4x8x5xbf16> {
  %r = weft.convolution %x, %w strides = [1] low = [1] high = [0] lhs_dilation = [1] rhs_dilation = [1] groups = 1 : (tensor<4x8x3xbf16>, tensor<2x3x5xbf16>) -> tensor<4x8x5xbf16>
  return %r : tensor<4x8x5xbf16>
}

// -----

// A slice for each place of the result, where these are fewer.

// CHECK-LABEL: func.func @by_result(
// CHECK: %[[X:.*]] = weft.transpose %arg0 dims = [2, 1, 0]
// CHECK: weft.slice %[[X]] starts = [0, 0, 0] limits = [3, 7, 4]
// CHECK: weft.slice %[[X]] starts = [0, 1, 0] limits = [3, 8, 4]
// CHECK: weft.dot_general {{.*}} contracting = [0, 1] x [1, 0]
func.func @by_result(%x: tensor<4x8x3xf32>, %w: tensor<7x3x5xf32>) -> tensor<4x2x5xf32> {
  %r = weft.convolution %x, %w strides = [1] low = [0] high = [0] lhs_dilation = [1] rhs_dilation = [1] groups = 1 : (tensor<4x8x3xf32>, tensor<7x3x5xf32>) -> tensor<4x2x5xf32>
  return %r : tensor<4x2x5xf32>
}

// -----

// The matmul first, where the result has few features.

// CHECK-LABEL: func.func @products_first(
// CHECK: weft.dot_general %arg0, %arg1 contracting = [2] x [1] : {{.*}} -> tensor<4x8x2x1xf32>
// CHECK: weft.slice
// CHECK: weft.slice
// CHECK: arith.addf
func.func @products_first(%x: tensor<4x8x3xf32>, %w: tensor<2x3x1xf32>) -> tensor<4x7x1xf32> {
  %r = weft.convolution %x, %w strides = [1] low = [0] high = [0] lhs_dilation = [1] rhs_dilation = [1] groups = 1 : (tensor<4x8x3xf32>, tensor<2x3x1xf32>) -> tensor<4x7x1xf32>
  return %r : tensor<4x7x1xf32>
}

// -----

// Groups are batches of the matmul.

// CHECK-LABEL: func.func @groups(
// CHECK: weft.reshape %arg0 : tensor<4x8x6xf32> -> tensor<4x8x2x3xf32>
// CHECK: weft.dot_general {{.*}} batching = [2] x [2] contracting = [3, 4] x [0, 1]
func.func @groups(%x: tensor<4x8x6xf32>, %w: tensor<2x3x4xf32>) -> tensor<4x7x4xf32> {
  %r = weft.convolution %x, %w strides = [1] low = [0] high = [0] lhs_dilation = [1] rhs_dilation = [1] groups = 2 : (tensor<4x8x6xf32>, tensor<2x3x4xf32>) -> tensor<4x7x4xf32>
  return %r : tensor<4x7x4xf32>
}

// -----

// One feature in a group: products of elements.

// CHECK-LABEL: func.func @depthwise(
// CHECK-NOT: weft.dot_general
// CHECK: arith.mulf
// CHECK: arith.mulf
// CHECK: arith.addf
func.func @depthwise(%x: tensor<4x8x6xf32>, %w: tensor<2x1x6xf32>) -> tensor<4x7x6xf32> {
  %r = weft.convolution %x, %w strides = [1] low = [0] high = [0] lhs_dilation = [1] rhs_dilation = [1] groups = 6 : (tensor<4x8x6xf32>, tensor<2x1x6xf32>) -> tensor<4x7x6xf32>
  return %r : tensor<4x7x6xf32>
}

// -----

// CHECK-LABEL: func.func @reduce_window(
// CHECK: %[[FIRST:.*]] = weft.slice %arg0 starts = [0, 0] limits = [4, 5] strides = [1, 2]
// CHECK: %[[SECOND:.*]] = weft.slice %arg0 starts = [0, 3] limits = [4, 8] strides = [1, 2]
// CHECK: arith.minimumf %[[FIRST]], %[[SECOND]]
// A window over the whole dimension is a reduction.
// CHECK: weft.reduce sum %arg0 dims = [1]
func.func @reduce_window(%x: tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x1xf32>) {
  %0 = weft.reduce_window min %x dim = 1 size = 2 stride = 2 dilation = 3 : tensor<4x8xf32> -> tensor<4x3xf32>
  %1 = weft.reduce_window sum %x dim = 1 size = 8 stride = 1 dilation = 1 : tensor<4x8xf32> -> tensor<4x1xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<4x1xf32>
}

// -----

// Windows side by side: each element, as often as its window has places.

// CHECK-LABEL: func.func @spread_windows(
// CHECK: %[[ALL:.*]] = weft.broadcast %arg0 dims = [0, 1] : tensor<4x3xf32> -> tensor<4x3x2xf32>
// CHECK: %[[R:.*]] = weft.reshape %[[ALL]] : tensor<4x3x2xf32> -> tensor<4x6xf32>
// CHECK: weft.pad %[[R]] low = [0, 0] high = [0, 1]
func.func @spread_windows(%g: tensor<4x3xf32>) -> tensor<4x7xf32> {
  %r = weft.spread_windows %g dim = 1 size = 2 stride = 2 dilation = 1 : (tensor<4x3xf32>) -> tensor<4x7xf32>
  return %r : tensor<4x7xf32>
}
