// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2x8xf32>, %y: tensor<3x8xf32>, %z: tensor<8xf32>) {
  // expected-error @below {{'weft.concat' op expected 1 or more operands, but found 0}}
  %r = "weft.concat"() {dim = 0 : i64} : () -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %y: tensor<3x8xf32>, %z: tensor<8xf32>) {
  // expected-error @below {{'weft.concat' op dim has dim 2 but the tensor has rank 2}}
  %r = weft.concat %x, %y dim = 2 : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %y: tensor<3x8xf32>, %z: tensor<8xf32>) {
  // expected-error @below {{'weft.concat' op operand 1 must have rank 2 as operand 0 has, got 1}}
  %r = weft.concat %x, %z dim = 0 : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<5x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %y: tensor<3x8xf32>, %z: tensor<8xf32>) {
  // expected-error @below {{'weft.concat' op dim 0 of operand 1 must be 2 as in operand 0, got 3}}
  %r = weft.concat %x, %y dim = 1 : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %y: tensor<3x8xf32>, %z: tensor<8xf32>) {
  // expected-error @below {{'weft.concat' op result dim 0 must be 5 (sum over the operands), got 6}}
  %r = weft.concat %x, %y dim = 0 : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %y: tensor<3x8xf32>, %z: tensor<8xf32>) {
  // expected-error @below {{'weft.concat' op result dim 1 must be 8 (dim 1 of the operands), got 9}}
  %r = weft.concat %x, %y dim = 0 : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x9xf32>
  return
}
