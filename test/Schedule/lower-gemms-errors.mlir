// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-lower-gemms --verify-diagnostics

func.func @no_gemm(%x: tensor<4x16xi8>, %w: tensor<16x8xi8>) -> tensor<4x8xi8> {
  // expected-error @below {{has no GEMM from 'i8' to 'i8'; compute it in bf16, f16, f32, f64, i32 or i64}}
  %r = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<4x16xi8>, tensor<16x8xi8>) -> tensor<4x8xi8>
  return %r : tensor<4x8xi8>
}

func.func @wider_sums(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{has accumulation_type 'f64', but GEMMs of 'f32' accumulate in 'f32'; convert the operands to 'f64' first}}
  %y = weft.dot_general %x, %w contracting = [1] x [0] {accumulation_type = f64} : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
