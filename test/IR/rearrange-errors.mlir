// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @none() {
  // expected-error @below {{expected 1 or more operands, but found 0}}
  %r = weft.rearrange dim = 1 map <[6] to [4], 2 to 0 for 3> : () -> tensor<4x4xf32>
  return
}

// -----

func.func @dim(%x: tensor<4x6xf32>) {
  // expected-error @below {{dim has dim 2 but the tensor has rank 2}}
  %r = weft.rearrange %x dim = 2 map <[6] to [4], 2 to 0 for 3> : (tensor<4x6xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @shapes(%x: tensor<4x6xf32>, %y: tensor<3x6xf32>) {
  // expected-error @below {{operands must have one shape but for dim 1, got 'tensor<4x6xf32>' and 'tensor<3x6xf32>'}}
  %r = weft.rearrange %x, %y dim = 1 map <[6, 6] to [4], 2 to 0 for 3> : (tensor<4x6xf32>, tensor<3x6xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @segments(%x: tensor<4x6xf32>) {
  // expected-error @below {{the map takes segments of [3, 3], the operands have [6]}}
  %r = weft.rearrange %x dim = 1 map <[3, 3] to [4], 2 to 0 for 3> : (tensor<4x6xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @value(%x: tensor<4x6xf32>) {
  // expected-error @below {{value must have the element type 'f32', got 'f64'}}
  %r = weft.rearrange %x dim = 1 map <[6] to [4], 2 to 0 for 3> value = 0.0 : f64 : (tensor<4x6xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @runs(%x: tensor<4x6xf32>) {
  // expected-error @below {{a run takes elements 4 to 6 of 6}}
  %r = weft.rearrange %x dim = 1 map <[6] to [4], 4 to 0 for 3> : (tensor<4x6xf32>) -> tensor<4x4xf32>
  return
}
