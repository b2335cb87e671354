// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'weft.dot_general' op lhs contracting has dim 2 but the tensor has rank 2}}
  %r = weft.dot_general %a, %b contracting = [2] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'weft.dot_general' op rhs batching has dim -1 but the tensor has rank 2}}
  %r = weft.dot_general %a, %b batching = [0] x [-1] contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'weft.dot_general' op lhs dim 1 is named twice among batching and contracting dims}}
  %r = weft.dot_general %a, %b batching = [1] x [0] contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'weft.dot_general' op contracting must name as many dims of lhs as of rhs, got 1 and 0}}
  %r = weft.dot_general %a, %b contracting = [1] x [] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'weft.dot_general' op contracting pairs lhs dim 0 of size 4 with rhs dim 0 of size 8}}
  %r = weft.dot_general %a, %b contracting = [0] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xbf16>) {
  // expected-error @below {{'weft.dot_general' op operands must have one element type, got 'f32' and 'bf16'}}
  %r = weft.dot_general %a, %b contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'weft.dot_general' op result element type must be 'f32' or a wider one of its kind, got 'bf16'}}
  %r = weft.dot_general %a, %b contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xbf16>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'weft.dot_general' op accumulation_type must be 'f32' or a wider one of its kind, got 'i64'}}
  %r = weft.dot_general %a, %b contracting = [1] x [0] {accumulation_type = i64} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'weft.dot_general' op result dim 1 must be 16 (dim 1 of rhs), got 8}}
  %r = weft.dot_general %a, %b contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'weft.dot_general' op result must have rank 2, got 1}}
  %r = weft.dot_general %a, %b contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<?x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'weft.dot_general' op operand #0 must be static ranked tensor of f32, bf16, f16, f64, i64, i32, i16, i8 or i1, but got 'tensor<?x8xf32>'}}
  %r = weft.dot_general %a, %b contracting = [1] x [0] : (tensor<?x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xi1>, %b: tensor<8x16xi1>) {
  // expected-error @below {{'weft.dot_general' op cannot sum products of type i1; convert the operands to i32 first}}
  %r = weft.dot_general %a, %b contracting = [1] x [0] : (tensor<4x8xi1>, tensor<8x16xi1>) -> tensor<4x16xi32>
  return
}
