// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_reduce' op must be over at least one axis}}
  %r = weft.all_reduce sum %x over <@mesh, {}> : tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_reduce' op unknown mesh @mash; declare it in the module with weft.mesh}}
  %r = weft.all_reduce sum %x over <@mash, {"x"}> : tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_reduce' op unknown axis "z"; the mesh has "x", "y"}}
  %r = weft.all_reduce sum %x over <@mesh, {"z"}> : tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_reduce' op axis "x" is named twice}}
  %r = weft.all_reduce sum %x over <@mesh, {"x", "y", "x"}> : tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_reduce' op axes "x":(1)2 and "x" overlap}}
  %r = weft.all_reduce sum %x over <@mesh, {"x":(1)2, "x"}> : tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_reduce' op sub-axis of axis "x" has the size of the axis, 4; write the axis alone}}
  %r = weft.all_reduce sum %x over <@mesh, {"x":(1)4}> : tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_reduce' op sub-axis "x":(1)3 does not factor its axis of size 4}}
  %r = weft.all_reduce sum %x over <@mesh, {"x":(1)3}> : tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_reduce' op neighbours "x":(1)2 and "x":(2)2 are one axis, "x"}}
  %r = weft.all_reduce sum %x over <@mesh, {"x":(1)2, "x":(2)2}> : tensor<4x8xf32>
  return
}

// -----

weft.mesh @six = <["z"=6]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.all_reduce' op axes "z":(3)2 and "z":(1)2 do not factor one axis}}
  %r = weft.all_reduce sum %x over <@six, {"z":(3)2, "z":(1)2}> : tensor<4x8xf32>
  return
}
