// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.softmax' op dims must name a dim of the operand, got none}}
  %r = weft.softmax %x dims = [] : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.softmax' op dims has dim 2 but the tensor has rank 2}}
  %r = weft.softmax %x dims = [2] : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.softmax' op dims must be strictly increasing, got 0 after 1}}
  %r = weft.softmax %x dims = [1, 0] : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @below {{'weft.softmax' op operand #0 must be static ranked tensor of f32, bf16, f16 or f64, but got 'tensor<4x8xi32>'}}
  %r = weft.softmax %x dims = [1] : tensor<4x8xi32>
  return
}
