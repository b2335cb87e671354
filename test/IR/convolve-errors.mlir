// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @number_of_dims(%x: tensor<4x16x3xf32>, %w: tensor<3x3x8xf32>) {
  // expected-error @below {{must have a number for each of the 1 spatial dims in every list, got 2}}
  %r = weft.convolve %x, %w groups = 1 batch = 4 input_features = 3 output_features = 8
      [16] by [3, 3] to [8] strides = [2] low = [1] lhs_dilation = [1] rhs_dilation = [1]
      layouts = [3, 48, 1, 3] x [8, 8, 1, 24] -> [8, 64, 1, 8]
      : (tensor<4x16x3xf32>, tensor<3x3x8xf32>) -> tensor<4x8x8xf32>
  return
}

// -----

func.func @stride(%x: tensor<4x16x3xf32>, %w: tensor<3x3x8xf32>) {
  // expected-error @below {{strides and dilations must be at least 1, got 0}}
  %r = weft.convolve %x, %w groups = 1 batch = 4 input_features = 3 output_features = 8
      [16] by [3] to [8] strides = [0] low = [1] lhs_dilation = [1] rhs_dilation = [1]
      layouts = [3, 48, 1, 3] x [8, 8, 1, 24] -> [8, 64, 1, 8]
      : (tensor<4x16x3xf32>, tensor<3x3x8xf32>) -> tensor<4x8x8xf32>
  return
}

// -----

func.func @element(%x: tensor<4x16x3xbf16>, %w: tensor<3x3x8xf32>) {
  // expected-error @below {{lhs must have elements of f32, got 'bf16'}}
  %r = weft.convolve %x, %w groups = 1 batch = 4 input_features = 3 output_features = 8
      [16] by [3] to [8] strides = [2] low = [1] lhs_dilation = [1] rhs_dilation = [1]
      layouts = [3, 48, 1, 3] x [8, 8, 1, 24] -> [8, 64, 1, 8]
      : (tensor<4x16x3xbf16>, tensor<3x3x8xf32>) -> tensor<4x8x8xf32>
  return
}

// -----

func.func @number_of_strides(%x: tensor<4x16x3xf32>, %w: tensor<3x3x8xf32>) {
  // expected-error @below {{lhs must have 4 strides, got 3}}
  %r = weft.convolve %x, %w groups = 1 batch = 4 input_features = 3 output_features = 8
      [16] by [3] to [8] strides = [2] low = [1] lhs_dilation = [1] rhs_dilation = [1]
      layouts = [3, 48, 1] x [8, 8, 1, 24] -> [8, 64, 1, 8]
      : (tensor<4x16x3xf32>, tensor<3x3x8xf32>) -> tensor<4x8x8xf32>
  return
}

// -----

func.func @reach(%x: tensor<4x16x3xf32>, %w: tensor<3x3x8xf32>) {
  // expected-error @below {{lhs with sizes [1, 4, 3, 16] and strides [3, 48, 1, 4] does not fit 'tensor<4x16x3xf32>'}}
  %r = weft.convolve %x, %w groups = 1 batch = 4 input_features = 3 output_features = 8
      [16] by [3] to [8] strides = [2] low = [1] lhs_dilation = [1] rhs_dilation = [1]
      layouts = [3, 48, 1, 4] x [8, 8, 1, 24] -> [8, 64, 1, 8]
      : (tensor<4x16x3xf32>, tensor<3x3x8xf32>) -> tensor<4x8x8xf32>
  return
}

// -----

func.func @empty(%x: tensor<4x16x3xf32>, %w: tensor<3x3x8xf32>) {
  // expected-error @below {{rhs with sizes [1, 3, 0, 3] and strides [8, 8, 1, 24] does not fit 'tensor<3x3x8xf32>'}}
  %r = weft.convolve %x, %w groups = 1 batch = 4 input_features = 3 output_features = 0
      [16] by [3] to [8] strides = [2] low = [1] lhs_dilation = [1] rhs_dilation = [1]
      layouts = [3, 48, 1, 3] x [8, 8, 1, 24] -> [8, 64, 1, 8]
      : (tensor<4x16x3xf32>, tensor<3x3x8xf32>) -> tensor<4x8x8xf32>
  return
}

// -----

func.func @overlap(%x: tensor<4x16x3xf32>, %w: tensor<3x3x8xf32>) {
  // expected-error @below {{layout of the result must write every element of 'tensor<4x8x8xf32>' once, got [8, 64, 1, 4]}}
  %r = weft.convolve %x, %w groups = 1 batch = 4 input_features = 3 output_features = 8
      [16] by [3] to [8] strides = [2] low = [1] lhs_dilation = [1] rhs_dilation = [1]
      layouts = [3, 48, 1, 3] x [8, 8, 1, 24] -> [8, 64, 1, 4]
      : (tensor<4x16x3xf32>, tensor<3x3x8xf32>) -> tensor<4x8x8xf32>
  return
}

// -----

func.func @too_many_dims(%x: tensor<4xf32>) {
  // expected-error @below {{must have at most 4 spatial dims, got 5}}
  %r = weft.convolve %x, %x groups = 1 batch = 1 input_features = 1 output_features = 1
      [1, 1, 1, 1, 4] by [1, 1, 1, 1, 4] to [1, 1, 1, 1, 1] strides = [1, 1, 1, 1, 1] low = [0, 0, 0, 0, 0]
      lhs_dilation = [1, 1, 1, 1, 1] rhs_dilation = [1, 1, 1, 1, 1]
      layouts = [1, 1, 1, 1, 1, 1, 1, 1] x [1, 1, 1, 1, 1, 1, 1, 1] -> [1, 1, 1, 1, 1, 1, 1, 1]
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<1xf32>
  return
}
