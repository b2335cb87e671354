// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<32x8xf32>, %w: tensor<4x8x16xf32>, %s: tensor<2x4xi32>) {
  // expected-error @below {{'weft.grouped_dot' op operands must have rank 3 and sizes rank 2, got 'tensor<32x8xf32>', 'tensor<4x8x16xf32>' and 'tensor<2x4xi32>'}}
  %r = weft.grouped_dot %x, %w groups %s : (tensor<32x8xf32>, tensor<4x8x16xf32>, tensor<2x4xi32>) -> tensor<32x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32x8xf32>, %w: tensor<4x8x16xf32>, %s: tensor<1x4xi32>) {
  // expected-error @below {{'weft.grouped_dot' op sizes must have a row for each of 2 batches, got 'tensor<1x4xi32>'}}
  %r = weft.grouped_dot %x, %w groups %s : (tensor<2x32x8xf32>, tensor<4x8x16xf32>, tensor<1x4xi32>) -> tensor<2x32x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32x8xf32>, %w: tensor<4x8x16xf32>, %s: tensor<2x4xi32>) {
  // expected-error @below {{'weft.grouped_dot' op rhs must be 'tensor<4x8x8xf32>', got 'tensor<4x8x16xf32>'}}
  %r = weft.grouped_dot %x, %w groups %s transposed : (tensor<2x32x8xf32>, tensor<4x8x16xf32>, tensor<2x4xi32>) -> tensor<2x32x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32x8xf32>, %w: tensor<4x8x16xf32>, %s: tensor<2x4xi32>) {
  // expected-error @below {{'weft.grouped_dot' op the result must be 'tensor<2x32x16xf32>', got 'tensor<2x32x16xf64>'}}
  %r = weft.grouped_dot %x, %w groups %s : (tensor<2x32x8xf32>, tensor<4x8x16xf32>, tensor<2x4xi32>) -> tensor<2x32x16xf64>
  return
}

// -----

func.func @f(%x: tensor<2x32x8xf32>, %w: tensor<4x8x16xf32>, %s: tensor<2x4xi64>) {
  // expected-error @below {{'weft.grouped_dot' op operand #2 must be static ranked tensor of i32, but got 'tensor<2x4xi64>'}}
  %r = weft.grouped_dot %x, %w groups %s : (tensor<2x32x8xf32>, tensor<4x8x16xf32>, tensor<2x4xi64>) -> tensor<2x32x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32x8xf32>, %y: tensor<2x31x16xf32>, %s: tensor<2x4xi32>) {
  // expected-error @below {{'weft.grouped_outer' op rhs must be 'tensor<2x32x16xf32>', got 'tensor<2x31x16xf32>'}}
  %r = weft.grouped_outer %x, %y groups %s : (tensor<2x32x8xf32>, tensor<2x31x16xf32>, tensor<2x4xi32>) -> tensor<4x8x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32x8xf32>, %y: tensor<2x32x16xf32>, %s: tensor<2x4xi32>) {
  // expected-error @below {{'weft.grouped_outer' op the result must be 'tensor<4x8x16xf32>', got 'tensor<3x8x16xf32>'}}
  %r = weft.grouped_outer %x, %y groups %s : (tensor<2x32x8xf32>, tensor<2x32x16xf32>, tensor<2x4xi32>) -> tensor<3x8x16xf32>
  return
}
