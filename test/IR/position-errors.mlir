// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.position' op unknown axis "z"; the mesh has "x", "y"}}
  %r = weft.position over <@mesh, {"z"}> : tensor<i32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.position' op result #0 must be 0D tensor of 32-bit signless integer values}}
  %r = weft.position over <@mesh, {"x"}> : tensor<4xi32>
  return
}
