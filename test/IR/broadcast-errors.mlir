// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.broadcast' op dims must name a result dim for each of the 2 operand dims, got 1}}
  %r = weft.broadcast %x dims = [1] : tensor<4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.broadcast' op dims has dim 3 but the tensor has rank 3}}
  %r = weft.broadcast %x dims = [1, 3] : tensor<4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.broadcast' op dims must be strictly increasing, got 0 after 1}}
  %r = weft.broadcast %x dims = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.broadcast' op operand dim 0 must have size 1 or that of result dim 0, 8, got 4}}
  %r = weft.broadcast %x dims = [0, 1] : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.broadcast' op requires the same element type for all operands and results}}
  %r = weft.broadcast %x dims = [0, 1] : tensor<4x8xf32> -> tensor<4x8xf64>
  return
}
