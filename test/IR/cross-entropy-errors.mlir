// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x50xf32>, %l: tensor<4xi32>) {
  // expected-error @below {{'weft.cross_entropy' op dim has dim 2 but the tensor has rank 2}}
  %r = weft.cross_entropy %x, %l dim = 2 : (tensor<4x50xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x50xf32>, %l: tensor<50xi32>) {
  // expected-error @below {{'weft.cross_entropy' op labels must have the shape of the logits without dim 1, [4], got [50]}}
  %r = weft.cross_entropy %x, %l dim = 1 : (tensor<4x50xf32>, tensor<50xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x50xf32>, %l: tensor<4xi32>) {
  // expected-error @below {{'weft.cross_entropy' op result must have the shape of the logits without dim 1, [4], got []}}
  %r = weft.cross_entropy %x, %l dim = 1 : (tensor<4x50xf32>, tensor<4xi32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<4x50xbf16>, %l: tensor<4xi32>) {
  // expected-error @below {{'weft.cross_entropy' op result must have the element type of the logits, 'bf16', got 'f32'}}
  %r = weft.cross_entropy %x, %l dim = 1 : (tensor<4x50xbf16>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x50xf32>, %l: tensor<4xi8>) {
  // expected-error @below {{'weft.cross_entropy' op operand #1 must be static ranked tensor of i64 or i32, but got 'tensor<4xi8>'}}
  %r = weft.cross_entropy %x, %l dim = 1 : (tensor<4x50xf32>, tensor<4xi8>) -> tensor<4xf32>
  return
}
