// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.pad' op high must have a number for each of the 2 operand dims, got 1}}
  %r = weft.pad %x low = [0, 1] high = [0] interior = [0, 0] value = 0.0 : f32 : tensor<4x8xf32> -> tensor<4x9xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.pad' op low of dim 1 must be at least 0, got -1; remove elements with weft.slice}}
  %r = weft.pad %x low = [0, -1] high = [0, 0] interior = [0, 0] value = 0.0 : f32 : tensor<4x8xf32> -> tensor<4x7xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.pad' op interior of dim 0 must be at least 0, got -2; remove elements with weft.slice}}
  %r = weft.pad %x low = [0, 0] high = [0, 0] interior = [-2, 0] value = 0.0 : f32 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.pad' op value must have the element type 'f32', got 'f64'}}
  %r = weft.pad %x low = [0, 1] high = [0, 0] interior = [0, 0] value = 0.0 : f64 : tensor<4x8xf32> -> tensor<4x9xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.pad' op result dim 1 must be 18 (8 with 1 before, 2 after, 1 between), got 11}}
  %r = weft.pad %x low = [0, 1] high = [0, 2] interior = [0, 1] value = 0.0 : f32 : tensor<4x8xf32> -> tensor<4x11xf32>
  return
}
