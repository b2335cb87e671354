// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x50x8xf32>, %i: tensor<4x3xi32>) {
  // expected-error @below {{'weft.gather' op dim has dim 3 but the tensor has rank 3}}
  %r = weft.gather %x, %i dim = 3 : (tensor<4x50x8xf32>, tensor<4x3xi32>) -> tensor<4x50x4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x50x8xf32>, %i: tensor<4x3xi8>) {
  // expected-error @below {{'weft.gather' op operand #1 must be static ranked tensor of i64 or i32, but got 'tensor<4x3xi8>'}}
  %r = weft.gather %x, %i dim = 1 : (tensor<4x50x8xf32>, tensor<4x3xi8>) -> tensor<4x4x3x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x50x8xf32>, %i: tensor<4x3xi32>) {
  // expected-error @below {{'weft.gather' op operand batching names dim 1, along which elements are indexed}}
  %r = weft.gather %x, %i dim = 1 batching = [1] x [0] : (tensor<4x50x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x50x8xf32>, %i: tensor<4x4xi32>) {
  // expected-error @below {{'weft.gather' op operand batching names dim 0 twice}}
  %r = weft.gather %x, %i dim = 1 batching = [0, 0] x [0, 1] : (tensor<4x50x8xf32>, tensor<4x4xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x50x8xf32>, %i: tensor<4x3xi32>) {
  // expected-error @below {{'weft.gather' op indices batching has dim 2 but the tensor has rank 2}}
  %r = weft.gather %x, %i dim = 1 batching = [0] x [2] : (tensor<4x50x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x50x8xf32>, %i: tensor<4x3xi32>) {
  // expected-error @below {{'weft.gather' op batching must name as many dims of the operand as of the indices, got 1 and 2}}
  %r = weft.gather %x, %i dim = 1 batching = [0] x [0, 1] : (tensor<4x50x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x50x8xf32>, %i: tensor<4x3xi32>) {
  // expected-error @below {{'weft.gather' op batching pairs dim 2 of the operand, of size 8, with dim 1 of the indices, of size 3}}
  %r = weft.gather %x, %i dim = 1 batching = [2] x [1] : (tensor<4x50x8xf32>, tensor<4x3xi32>) -> tensor<4x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4294967296xi8>, %i: tensor<3xi32>) {
  // expected-error @below {{'weft.gather' op dim 0 of the operand has size 4294967296, more than indices of type 'i32' reach; convert the indices to i64}}
  %r = weft.gather %x, %i dim = 0 : (tensor<4294967296xi8>, tensor<3xi32>) -> tensor<3xi8>
  return
}

// -----

func.func @f(%x: tensor<4x50x8xf32>, %i: tensor<4x3xi32>) {
  // expected-error @below {{'weft.gather' op result must have the element type of the operand, 'f32', got 'bf16'}}
  %r = weft.gather %x, %i dim = 1 batching = [0] x [0] : (tensor<4x50x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xbf16>
  return
}

// -----

func.func @f(%x: tensor<4x50x8xf32>, %i: tensor<4x3xi32>) {
  // expected-error @below {{'weft.gather' op result must have rank 4, got 3}}
  %r = weft.gather %x, %i dim = 1 : (tensor<4x50x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x50x8xf32>, %i: tensor<4x3xi32>) {
  // expected-error @below {{'weft.gather' op result dim 2 must be 3 (dim 1 of the indices), got 2}}
  %r = weft.gather %x, %i dim = 1 : (tensor<4x50x8xf32>, tensor<4x3xi32>) -> tensor<4x4x2x8xf32>
  return
}
