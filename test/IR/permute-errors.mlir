// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.permute' op from and to must have one total size, got axis "x" size 4 and axis "y" size 2}}
  %r = weft.permute %x from <@mesh, {"x"}> to <@mesh, {"y"}> : tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.permute' op from and to must be of one mesh, got @mesh and @other}}
  %r = weft.permute %x from <@mesh, {"x"}> to <@other, {"y"}> : tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.permute' op must be over at least one axis}}
  %r = weft.permute %x from <@mesh, {}> to <@mesh, {"y"}> : tensor<4x8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.permute' op shift must be at least 0 and less than the 4 parts, got 4}}
  %r = weft.permute %x from <@mesh, {"x"}> to <@mesh, {"x"}> {shift = 4 : i64} : tensor<4x8xf32>
  return
}
