// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @no_kind(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected a kind of collective}}
  weft.start %x
}

// -----

func.func @unknown_kind(%x: tensor<4x8xf32>) {
  // expected-error @below {{unknown collective 'broadcast'; expected all_reduce, all_gather, reduce_scatter, all_to_all, permute or exchange}}
  weft.start broadcast %x
}

// -----

func.func @no_mesh(%x: tensor<4x8xf32>) {
  // expected-error @below {{unknown mesh @mesh; declare it in the module with weft.mesh}}
  %0 = weft.start all_reduce %x sum over <@mesh, {"a"}> : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
  return
}

// -----

weft.mesh @mesh = <["a"=2, "b"=3]>

func.func @no_axes(%x: tensor<4x8xf32>) {
  // expected-error @below {{must be over at least one axis}}
  %0 = weft.start all_reduce %x sum over <@mesh, {}> : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
  return
}

func.func @missing_attribute(%x: tensor<4x8xf32>) {
  // expected-error @below {{has too few or too many attributes for all_reduce}}
  %0 = "weft.start"(%x) {kind = #weft.collective_kind<all_reduce>, axes = #weft.axes<@mesh, {"a"}>}
      : (tensor<4x8xf32>) -> !weft.pending<tensor<4x8xf32>>
  return
}

func.func @shift(%x: tensor<4x8xf32>) {
  // expected-error @below {{shift is for permute, not for all_reduce}}
  %0 = weft.start all_reduce %x sum over <@mesh, {"a"}> {shift = 1 : i64} : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
  return
}

func.func @far_shift(%x: tensor<4x8xf32>) {
  // expected-error @below {{shift must be at least 0 and less than the 2 parts, got 2}}
  %0 = weft.start permute %x from <@mesh, {"a"}> to <@mesh, {"a"}> {shift = 2 : i64} : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
  return
}

func.func @exchange(%x: tensor<4x8xf32>) {
  // expected-error @below {{the map takes 6 elements of dim 1, the operand has 8}}
  %0 = weft.start exchange %x dim = 1 over <@mesh, {"a"}> map <[6] to [6], 0 to 0 for 12> : tensor<4x8xf32> -> !weft.pending<tensor<4x6xf32>>
  return
}

func.func @in_place(%x: tensor<4x8xf32>) {
  // expected-error @below {{in_place is for all_reduce, not for permute}}
  %0 = weft.start permute %x from <@mesh, {"a"}> to <@mesh, {"a"}> {in_place}
      : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
  return
}

func.func @rank(%x: tensor<4x8xf32>) {
  // expected-error @below {{pending tensor must have the element type and rank of the operand 'tensor<4x8xf32>', got 'tensor<32xf32>'}}
  %0 = weft.start all_reduce %x sum over <@mesh, {"a"}> : tensor<4x8xf32> -> !weft.pending<tensor<32xf32>>
  return
}

func.func @dim(%x: tensor<4x8xf32>) {
  // expected-error @below {{dim has dim 2 but the tensor has rank 2}}
  %0 = weft.start all_gather %x dim = 2 over <@mesh, {"a"}> : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
  return
}

func.func @gathered(%x: tensor<4x8xf32>) {
  // expected-error @below {{result dim 0 must be 8 (local 4 × 2 devices), got 4}}
  %0 = weft.start all_gather %x dim = 0 over <@mesh, {"a"}> : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
  return
}

func.func @scattered(%x: tensor<4x8xf32>) {
  // expected-error @below {{operand dim 1 must be divisible by the 3 devices of the group, got 8}}
  %0 = weft.start reduce_scatter %x sum dim = 1 over <@mesh, {"b"}> : tensor<4x8xf32> -> !weft.pending<tensor<4x2xf32>>
  return
}

func.func @kept(%x: tensor<4x8xf32>) {
  // expected-error @below {{result dim 0 must be 4 (as the operand's), got 2}}
  %0 = weft.start reduce_scatter %x sum dim = 1 over <@mesh, {"a"}> : tensor<4x8xf32> -> !weft.pending<tensor<2x4xf32>>
  return
}

func.func @same_dim(%x: tensor<4x8xf32>) {
  // expected-error @below {{split and concat must be different dims, both are 0}}
  %0 = weft.start all_to_all %x split = 0 concat = 0 over <@mesh, {"a"}> : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
  return
}

func.func @sizes(%x: tensor<4x8xf32>) {
  // expected-error @below {{from and to must have one total size, got 2 and 3}}
  %0 = weft.start permute %x from <@mesh, {"a"}> to <@mesh, {"b"}> : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
  return
}
