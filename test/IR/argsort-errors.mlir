// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.argsort' op dim has dim 2 but the tensor has rank 2}}
  %r = weft.argsort %x dim = 2 : tensor<4x8xf32> -> tensor<4x8xi32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.argsort' op result must be 'tensor<4x8xi32>', or have fewer elements along dim 1, got 'tensor<4x9xi32>'}}
  %r = weft.argsort %x dim = 1 : tensor<4x8xf32> -> tensor<4x9xi32>
  return
}

// -----

func.func @f(%x: tensor<2147483648xi8>) {
  // expected-error @below {{'weft.argsort' op dim 0 has size 2147483648, more than indices of type i32 reach}}
  %r = weft.argsort %x dim = 0 : tensor<2147483648xi8> -> tensor<2147483648xi32>
  return
}
