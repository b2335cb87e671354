// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8x3xf32>) {
  // expected-error @below {{'weft.reduce_window' op dim has dim 3 but the tensor has rank 3}}
  %r = weft.reduce_window max %x dim = 3 size = 2 stride = 2 dilation = 1 : tensor<4x8x3xf32> -> tensor<4x4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8x3xf32>) {
  // expected-error @below {{'weft.reduce_window' op size must be at least 1, got 0}}
  %r = weft.reduce_window max %x dim = 1 size = 0 stride = 2 dilation = 1 : tensor<4x8x3xf32> -> tensor<4x4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8x3xf32>) {
  // expected-error @below {{'weft.reduce_window' op stride must be at least 1, got 0}}
  %r = weft.reduce_window max %x dim = 1 size = 2 stride = 0 dilation = 1 : tensor<4x8x3xf32> -> tensor<4x4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8x3xf32>) {
  // expected-error @below {{'weft.reduce_window' op dilation must be at least 1, got 0}}
  %r = weft.reduce_window max %x dim = 1 size = 2 stride = 2 dilation = 0 : tensor<4x8x3xf32> -> tensor<4x4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8x3xf32>) {
  // expected-error @below {{'weft.reduce_window' op a window spans 9 elements, but dim 1 has 8}}
  %r = weft.reduce_window max %x dim = 1 size = 3 stride = 1 dilation = 4 : tensor<4x8x3xf32> -> tensor<4x4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8x3xf32>) {
  // expected-error @below {{'weft.reduce_window' op result must have the element type of the operand, 'f32', got 'f64'}}
  %r = weft.reduce_window max %x dim = 1 size = 2 stride = 2 dilation = 1 : tensor<4x8x3xf32> -> tensor<4x4x3xf64>
  return
}

// -----

func.func @f(%x: tensor<4x8x3xf32>) {
  // expected-error @below {{'weft.reduce_window' op result dim 1 must be 4 (its windows), got 3}}
  %r = weft.reduce_window max %x dim = 1 size = 2 stride = 2 dilation = 1 : tensor<4x8x3xf32> -> tensor<4x3x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x0x3xf32>) {
  // expected-error @below {{'weft.reduce_window' op windows must be of elements, got 'tensor<4x0x3xf32>'}}
  %r = weft.reduce_window max %x dim = 1 size = 2 stride = 2 dilation = 1 {low = 2 : i64} : tensor<4x0x3xf32> -> tensor<4x1x3xf32>
  return
}
