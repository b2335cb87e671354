// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @no_such_dim(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'weft.mask_padding' op dim 1 is out of range for rank 1}}
  %r = weft.mask_padding %x dim = 1 size = 6 value = 0.0 : f32 : tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

func.func @larger_than_the_dim(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'weft.mask_padding' op size must be between 0 and the 8 elements of dim 0, got 9}}
  %r = weft.mask_padding %x dim = 0 size = 9 value = 0.0 : f32 : tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

func.func @another_type(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'weft.mask_padding' op value must have the element type 'f32', got 'i32'}}
  %r = weft.mask_padding %x dim = 0 size = 6 value = 0 : i32 : tensor<8xf32>
  return %r : tensor<8xf32>
}
