// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.reshape' op result must have the operand's 32 elements, got 33}}
  %r = weft.reshape %x : tensor<4x8xf32> -> tensor<33xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.reshape' op requires the same element type for all operands and results}}
  %r = weft.reshape %x : tensor<4x8xf32> -> tensor<32xi32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.reshape' op result #0 must be static ranked tensor of f32, bf16, f16, f64, i64, i32, i16, i8 or i1, but got 'tensor<?xf32>'}}
  %r = weft.reshape %x : tensor<4x8xf32> -> tensor<?xf32>
  return
}
