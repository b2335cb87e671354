// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["x"=4]>
func.func @dim(%x: tensor<4x6xf32>) {
  // expected-error @below {{dim has dim 2 but the tensor has rank 2}}
  %r = weft.exchange %x dim = 2 over <@mesh, {"x"}> map <[6] to [6], 0 to 0 for 24> : tensor<4x6xf32> -> tensor<4x6xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4]>
func.func @no_axes(%x: tensor<4x6xf32>) {
  // expected-error @below {{must be over at least one axis}}
  %r = weft.exchange %x dim = 1 over <@mesh, {}> map <[6] to [6], 0 to 0 for 6> : tensor<4x6xf32> -> tensor<4x6xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4]>
func.func @part(%x: tensor<4x6xf32>) {
  // expected-error @below {{parts must have at least one element, got 0}}
  %r = weft.exchange %x dim = 1 over <@mesh, {"x"}> map <[6, 0] to [6], 0 to 0 for 24> : tensor<4x6xf32> -> tensor<4x6xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4]>
func.func @empty_run(%x: tensor<4x6xf32>) {
  // expected-error @below {{a run must have at least one element and a step that is not 0, got 4 by 0}}
  %r = weft.exchange %x dim = 1 over <@mesh, {"x"}> map <[6] to [6], 0 to 0 for 4 by 0> : tensor<4x6xf32> -> tensor<4x6xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4]>
func.func @far_run(%x: tensor<4x6xf32>) {
  // expected-error @below {{a run of 4 by 25 does not fit}}
  %r = weft.exchange %x dim = 1 over <@mesh, {"x"}> map <[6] to [6], 0 to 0 for 4 by 25> : tensor<4x6xf32> -> tensor<4x6xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4]>
func.func @taken(%x: tensor<4x6xf32>) {
  // expected-error @below {{a run takes elements 1 to 24 of 24}}
  %r = weft.exchange %x dim = 1 over <@mesh, {"x"}> map <[6] to [6], 1 to 0 for 24> : tensor<4x6xf32> -> tensor<4x6xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4]>
func.func @placed(%x: tensor<4x6xf32>) {
  // expected-error @below {{a run goes to elements 1 to 8 of 8}}
  %r = weft.exchange %x dim = 1 over <@mesh, {"x"}> map <[6] to [2], 0 to 1 for 8> : tensor<4x6xf32> -> tensor<4x2xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4]>
func.func @twice(%x: tensor<4x6xf32>) {
  // expected-error @below {{two runs go to element 7}}
  %r = weft.exchange %x dim = 1 over <@mesh, {"x"}> map <[6] to [2], 0 to 0 for 8, 20 to 7 for 1> : tensor<4x6xf32> -> tensor<4x2xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4]>
func.func @operand(%x: tensor<4x6xf32>) {
  // expected-error @below {{the map takes 5 elements of dim 1, the operand has 6}}
  %r = weft.exchange %x dim = 1 over <@mesh, {"x"}> map <[3, 2] to [2], 0 to 0 for 8> : tensor<4x6xf32> -> tensor<4x2xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4]>
func.func @result(%x: tensor<4x6xf32>) {
  // expected-error @below {{result dim 1 must be 2 (the parts of the map), got 3}}
  %r = weft.exchange %x dim = 1 over <@mesh, {"x"}> map <[6] to [2], 0 to 0 for 8> : tensor<4x6xf32> -> tensor<4x3xf32>
  return
}
