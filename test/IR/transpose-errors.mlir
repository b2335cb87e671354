// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.transpose' op dims must be a permutation of the 2 operand dims, got [1]}}
  %r = weft.transpose %x dims = [1] : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.transpose' op dims must be a permutation of the 2 operand dims, got [0, 0]}}
  %r = weft.transpose %x dims = [0, 0] : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.transpose' op dims must be a permutation of the 2 operand dims, got [0, 2]}}
  %r = weft.transpose %x dims = [0, 2] : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.transpose' op result dim 0 must be 8 (dim 1 of the operand), got 4}}
  %r = weft.transpose %x dims = [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
