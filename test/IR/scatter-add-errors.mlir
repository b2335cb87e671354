// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What gather and scatter_add share is tested with gather.
// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%u: tensor<4x3x8xf32>, %i: tensor<4x3xi32>) {
  // expected-error @below {{'weft.scatter_add' op result batching names dim 1, along which elements are indexed}}
  %r = weft.scatter_add %u, %i dim = 1 batching = [1] x [0] : (tensor<4x3x8xf32>, tensor<4x3xi32>) -> tensor<4x50x8xf32>
  return
}

// -----

func.func @f(%u: tensor<4x3x8xf32>, %i: tensor<4x3xi32>) {
  // expected-error @below {{'weft.scatter_add' op updates must have rank 4, as a gather from the result has, got 3}}
  %r = weft.scatter_add %u, %i dim = 1 : (tensor<4x3x8xf32>, tensor<4x3xi32>) -> tensor<4x50x8xf32>
  return
}

// -----

func.func @f(%u: tensor<4x3x8xf32>, %i: tensor<4x2xi32>) {
  // expected-error @below {{'weft.scatter_add' op dim 1 of the updates must be 2 (dim 1 of the indices), got 3}}
  %r = weft.scatter_add %u, %i dim = 0 : (tensor<4x3x8xf32>, tensor<4x2xi32>) -> tensor<50x8xf32>
  return
}

// -----

func.func @f(%u: tensor<4x3x8xf32>, %i: tensor<4x3xi32>) {
  // expected-error @below {{'weft.scatter_add' op dim 2 of the updates must be 9 (dim 1 of the result), got 8}}
  %r = weft.scatter_add %u, %i dim = 0 : (tensor<4x3x8xf32>, tensor<4x3xi32>) -> tensor<50x9xf32>
  return
}

// -----

func.func @f(%u: tensor<4x3xi1>, %i: tensor<4x3xi32>) {
  // expected-error @below {{'weft.scatter_add' op cannot sum elements of type i1; convert them to i32 first}}
  %r = weft.scatter_add %u, %i dim = 0 : (tensor<4x3xi1>, tensor<4x3xi32>) -> tensor<50xi1>
  return
}

// -----

func.func @f(%u: tensor<4x3xbf16>, %i: tensor<4x3xi32>) {
  // expected-error @below {{'weft.scatter_add' op result must have the element type of the updates, 'bf16', got 'f32'}}
  %r = weft.scatter_add %u, %i dim = 0 : (tensor<4x3xbf16>, tensor<4x3xi32>) -> tensor<50xf32>
  return
}
