// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.slice' op starts must have a number for each of the 2 operand dims, got 1}}
  %r = weft.slice %x starts = [0] limits = [4, 8] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.slice' op strides must have a number for each of the 2 operand dims, got 3}}
  %r = weft.slice %x starts = [0, 0] limits = [4, 8] strides = [1, 1, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.slice' op dim 1 needs 0 <= start < limit <= 8, got start -1 and limit 8}}
  %r = weft.slice %x starts = [0, -1] limits = [4, 8] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x9xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.slice' op dim 0 needs 0 <= start < limit <= 4, got start 4 and limit 4}}
  %r = weft.slice %x starts = [4, 0] limits = [4, 8] strides = [1, 1] : tensor<4x8xf32> -> tensor<0x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.slice' op dim 1 needs 0 <= start < limit <= 8, got start 0 and limit 9}}
  %r = weft.slice %x starts = [0, 0] limits = [4, 9] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x9xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.slice' op stride of dim 1 must be at least 1, got 0}}
  %r = weft.slice %x starts = [0, 0] limits = [4, 8] strides = [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.slice' op result dim 1 must be 4 (1 to 8 by 2), got 3}}
  %r = weft.slice %x starts = [0, 1] limits = [4, 8] strides = [1, 2] : tensor<4x8xf32> -> tensor<4x3xf32>
  return
}
