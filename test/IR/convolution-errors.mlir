// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2x8x8x6xf32>, %w: tensor<3x6x4xf32>) {
  // expected-error @below {{'weft.convolution' op operands must have one rank of at least 2, got 4 and 3}}
  %r = weft.convolution %x, %w strides = [1, 1] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 1 : (tensor<2x8x8x6xf32>, tensor<3x6x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x8x6xf32>, %w: tensor<3x3x6x4xf32>) {
  // expected-error @below {{'weft.convolution' op strides must have a number for each of the 2 spatial dims, got 1}}
  %r = weft.convolution %x, %w strides = [1] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 1 : (tensor<2x8x8x6xf32>, tensor<3x3x6x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x8x6xf32>, %w: tensor<3x3x6x4xf32>) {
  // expected-error @below {{'weft.convolution' op rhs_dilation must be at least 1, got 0}}
  %r = weft.convolution %x, %w strides = [1, 1] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 0] groups = 1 : (tensor<2x8x8x6xf32>, tensor<3x3x6x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x8x6xf32>, %w: tensor<3x3x6x4xf32>) {
  // expected-error @below {{'weft.convolution' op low must be less than 1073741824, got 1073741824}}
  %r = weft.convolution %x, %w strides = [1, 1] low = [1073741824, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 1 : (tensor<2x8x8x6xf32>, tensor<3x3x6x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x8x6xf32>, %w: tensor<3x3x6x4xf32>) {
  // expected-error @below {{'weft.convolution' op groups must be at least 1, got 0}}
  %r = weft.convolution %x, %w strides = [1, 1] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 0 : (tensor<2x8x8x6xf32>, tensor<3x3x6x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x8x6xf32>, %w: tensor<3x3x6x4xf32>) {
  // expected-error @below {{'weft.convolution' op lhs must have the features of the kernel, 6, for each of 2 groups, got 6}}
  %r = weft.convolution %x, %w strides = [1, 1] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 2 : (tensor<2x8x8x6xf32>, tensor<3x3x6x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x8x3x2xf32>, %w: tensor<3x3x2x4xf32>) {
  // expected-error @below {{'weft.convolution' op lhs must have the groups, 2, and the features of the kernel, 2, as its last dims, got 3 and 2}}
  %r = weft.convolution %x, %w strides = [1, 1] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 2 : (tensor<2x8x8x3x2xf32>, tensor<3x3x2x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x8x8xf32>, %w: tensor<3x3x2x6xf32>) {
  // expected-error @below {{'weft.convolution' op the result's features must be divisible by the 4 groups, got 6}}
  %r = weft.convolution %x, %w strides = [1, 1] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 4 : (tensor<2x8x8x8xf32>, tensor<3x3x2x6xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x8x6xf32>, %w: tensor<3x3x6x4xbf16>) {
  // expected-error @below {{'weft.convolution' op operands must have one element type, got 'f32' and 'bf16'}}
  %r = weft.convolution %x, %w strides = [1, 1] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 1 : (tensor<2x8x8x6xf32>, tensor<3x3x6x4xbf16>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x8x6xf32>, %w: tensor<3x3x6x4xf32>) {
  // expected-error @below {{'weft.convolution' op result element type must be 'f32' or a wider one, got 'bf16'}}
  %r = weft.convolution %x, %w strides = [1, 1] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 1 : (tensor<2x8x8x6xf32>, tensor<3x3x6x4xf32>) -> tensor<2x6x6x4xbf16>
  return
}

// -----

func.func @f(%x: tensor<2x8x8x6xf32>, %w: tensor<3x3x6x4xf32>) {
  // expected-error @below {{'weft.convolution' op the window of spatial dim 1 spans 9 elements, but lhs has 8}}
  %r = weft.convolution %x, %w strides = [1, 1] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 4] groups = 1 : (tensor<2x8x8x6xf32>, tensor<3x3x6x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x8x6xf32>, %w: tensor<3x3x6x4xf32>) {
  // expected-error @below {{'weft.convolution' op result dim 2 must be 3 (its windows), got 6}}
  %r = weft.convolution %x, %w strides = [1, 2] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 1 : (tensor<2x8x8x6xf32>, tensor<3x3x6x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x8x6xf32>, %w: tensor<3x3x6x4xf32>) {
  // expected-error @below {{'weft.convolution' op result dim 3 must be 4 (the last dim of rhs), got 5}}
  %r = weft.convolution %x, %w strides = [1, 1] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 1 : (tensor<2x8x8x6xf32>, tensor<3x3x6x4xf32>) -> tensor<2x6x6x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x8x6xf32>, %w: tensor<3x3x6x4xf32>) {
  // expected-error @below {{'weft.convolution' op result dim 0 must be 2 (dim 0 of lhs), got 3}}
  %r = weft.convolution %x, %w strides = [1, 1] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 1 : (tensor<2x8x8x6xf32>, tensor<3x3x6x4xf32>) -> tensor<3x6x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x0x8x6xf32>, %w: tensor<3x3x6x4xf32>) {
  // expected-error @below {{'weft.convolution' op operands must have elements, got 'tensor<2x0x8x6xf32>'}}
  %r = weft.convolution %x, %w strides = [1, 1] low = [2, 0] high = [2, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 1 : (tensor<2x0x8x6xf32>, tensor<3x3x6x4xf32>) -> tensor<2x2x6x4xf32>
  return
}
