// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8xi1>) {
  // expected-error @below {{'weft.sech_squared' op operand #0 must be static ranked tensor of f32, bf16, f16 or f64, but got 'tensor<4x8xi1>'}}
  %r = weft.sech_squared %x : tensor<4x8xi1>
  return
}
