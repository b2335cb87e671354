// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @size(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{m must be at least 1, got 0}}
  %r = weft.gemm %a, %b batch = 1 m = 0 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @number_of_strides(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{rhs must have 3 strides, got 2}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @no_unit_stride(%a: tensor<4x2x2xf32>, %b: tensor<2x8xf32>) {
  // expected-error @below {{one matrix stride of lhs must be 1, got 4 and 2}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 2
      strides = [16, 4, 2] x [16, 8, 1] -> [32, 8, 1]
      : (tensor<4x2x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @negative_stride(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{lhs must not have a negative stride, got -16}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, -16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @out_of_bounds(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{strides of rhs reach element 135 of 128}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 17
      strides = [64, 1, 3] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @overlapping_result(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{out strides must write every element of the result once, got [32, 4, 1]}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 4, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @element_type(%a: tensor<4x16xi8>, %b: tensor<16x8xi8>) {
  // expected-error @below {{operands must be of bf16, f32, f64, i32 or i64, got 'i8'}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xi8>, tensor<16x8xi8>) -> tensor<4x8xi8>
  return
}

// -----

func.func @element_types(%a: tensor<4x16xf32>, %b: tensor<16x8xbf16>) {
  // expected-error @below {{operands must have one element type, got 'f32' and 'bf16'}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xbf16>) -> tensor<4x8xf32>
  return
}

// -----

func.func @result_type(%a: tensor<4x16xbf16>, %b: tensor<16x8xbf16>) {
  // expected-error @below {{result must be of 'bf16' or f32, got 'f64'}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xf64>
  return
}
