// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected a reduction: sum, max or min, got "product"}}
  %r = weft.reduce product %x dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.reduce' op dims has dim 2 but the tensor has rank 2}}
  %r = weft.reduce sum %x dims = [2] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.reduce' op dims must be strictly increasing, got 1 after 1}}
  %r = weft.reduce sum %x dims = [1, 1] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.reduce' op result dim 0 must be 8 (dim 1 of the operand), got 4}}
  %r = weft.reduce sum %x dims = [0] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.reduce' op requires the same element type for all operands and results}}
  %r = weft.reduce sum %x dims = [0] : tensor<4x8xf32> -> tensor<8xf64>
  return
}

// -----

func.func @f(%x: tensor<4x8xi1>) {
  %any = weft.reduce max %x dims = [0] : tensor<4x8xi1> -> tensor<8xi1>
  // expected-error @below {{'weft.reduce' op cannot sum elements of type i1; convert them to i32 first, or use max for "any" and min for "all"}}
  %r = weft.reduce sum %x dims = [0] : tensor<4x8xi1> -> tensor<8xi1>
  return
}
