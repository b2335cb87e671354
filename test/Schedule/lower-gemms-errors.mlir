// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-lower-gemms --verify-diagnostics

func.func @no_gemm(%x: tensor<4x16xi8>, %w: tensor<16x8xi8>) -> tensor<4x8xi8> {
  // expected-error @below {{has no GEMM from 'i8' to 'i8'; compute it in bf16, f32, f64, i32 or i64}}
  %r = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<4x16xi8>, tensor<16x8xi8>) -> tensor<4x8xi8>
  return %r : tensor<4x8xi8>
}
