// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.constraint' op sharding: unknown mesh @mash; declare it in the module with weft.mesh}}
  %r = weft.constraint %x <@mash, [{"x"}, {}]> : tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.constraint' op sharding: sharding has 1 dimensions but the tensor has rank 2}}
  %r = weft.constraint %x <@mesh, [{"x"}]> : tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.constraint' op requires the same type for all operands and results}}
  %r = "weft.constraint"(%x) {sharding = #weft.sharding<@mesh, [{}, {}]>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}
