// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.layer_norm' op dims must name a dim of the operand, got none}}
  %r = weft.layer_norm %x dims = [] epsilon = 1.0e-5 : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.layer_norm' op epsilon must be at least 0, got -1.000000e+00}}
  %r = weft.layer_norm %x dims = [1] epsilon = -1.0 : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %s: tensor<8xf32>) {
  // expected-error @below {{'weft.layer_norm' op scale must have the operand's sizes along dims [1, 2], [4, 8], got [8]}}
  %r = weft.layer_norm %x scale %s dims = [1, 2] epsilon = 1.0e-5 : tensor<2x4x8xf32> scale tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'weft.layer_norm' op bias must have the operand's sizes along dims [1], [8], got [4]}}
  %r = weft.layer_norm %x bias %b dims = [1] epsilon = 1.0e-5 : tensor<4x8xf32> bias tensor<4xf32>
  return
}
