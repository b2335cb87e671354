// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4xf32>, %g: tensor<f32>) {
  // expected-error @below {{failed to verify that all of {operand, result} have same type}}
  %r = "weft.barrier"(%x, %g) : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return
}
