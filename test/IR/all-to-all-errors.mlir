// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_to_all' op split has dim 2 but the tensor has rank 2}}
  %r = weft.all_to_all %x split = 2 concat = 1 over <@mesh, {"x"}> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_to_all' op concat has dim 2 but the tensor has rank 2}}
  %r = weft.all_to_all %x split = 0 concat = 2 over <@mesh, {"x"}> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_to_all' op split and concat must be different dims, both are 1}}
  %r = weft.all_to_all %x split = 1 concat = 1 over <@mesh, {"x"}> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_to_all' op operand dim 0 must be divisible by axes {"x", "y"} size 8, got 4}}
  %r = weft.all_to_all %x split = 0 concat = 1 over <@mesh, {"x", "y"}> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_to_all' op result dim 1 must be 32 (local 8 × axis "x" size 4), got 8}}
  %r = weft.all_to_all %x split = 0 concat = 1 over <@mesh, {"x"}> : tensor<4x8xf32> -> tensor<1x8xf32>
  return
}
