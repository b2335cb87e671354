// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected a reduction: sum, max or min, got "mean"}}
  %r = weft.reduce_scatter mean %x dim = 0 over <@mesh, {"x"}> : tensor<4x8xf32> -> tensor<1x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.reduce_scatter' op dim has dim 2 but the tensor has rank 2}}
  %r = weft.reduce_scatter sum %x dim = 2 over <@mesh, {"x"}> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.reduce_scatter' op result dim 0 must be 1 (local 4 / axis "x" size 4), got 4}}
  %r = weft.reduce_scatter sum %x dim = 0 over <@mesh, {"x"}> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
