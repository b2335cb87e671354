// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_gather' op dim has dim 2 but the tensor has rank 2}}
  %r = weft.all_gather %x dim = 2 over <@mesh, {"x"}> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_gather' op result dim 1 must be 32 (local 8 × axis "x" size 4), got 12}}
  %r = weft.all_gather %x dim = 1 over <@mesh, {"x"}> : tensor<4x8xf32> -> tensor<4x12xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_gather' op result dim 1 must be 64 (local 8 × axes {"x", "y"} size 8), got 32}}
  %r = weft.all_gather %x dim = 1 over <@mesh, {"x", "y"}> : tensor<4x8xf32> -> tensor<4x32xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_gather' op result dim 0 must be 4 (as the operand's), got 8}}
  %r = weft.all_gather %x dim = 1 over <@mesh, {"x"}> : tensor<4x8xf32> -> tensor<8x32xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_gather' op must be over at least one axis}}
  %r = weft.all_gather %x dim = 1 over <@mesh, {}> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
