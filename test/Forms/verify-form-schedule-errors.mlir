// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-verify-form=form=schedule --verify-diagnostics -o /dev/null

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @step(%x: tensor<4xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // expected-error @below {{after schedule: a schedule holds instructions of a plan, reshapes and constants, got arith.negf}}
  %a = arith.negf %x : tensor<4xf32>
  // expected-error @below {{after schedule: a weft.start needs exactly one weft.wait, got 0}}
  %p = weft.start all_reduce %x sum over <@mesh, {"x"}> : tensor<4xf32> -> !weft.pending<tensor<4xf32>>
  // expected-error @below {{after schedule: a weft.start needs exactly one weft.wait, got 2}}
  %q = weft.start all_reduce %x sum over <@mesh, {"x"}> : tensor<4xf32> -> !weft.pending<tensor<4xf32>>
  %q0 = weft.wait %q : !weft.pending<tensor<4xf32>>
  %q1 = weft.wait %q : !weft.pending<tensor<4xf32>>
  return
}

// -----

// The local types of entries are checked as in an SPMD program.
weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @step(
    // expected-error @below {{after schedule: argument 0 of @step has no weft.sharding}}
    %x: tensor<4xf32>) {
  return
}

// -----

// Concats and slices are of parts that lie in one piece each.
weft.mesh @mesh = <["x"=2]>
func.func @pieces(
    %x: tensor<4x4xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<4x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  // expected-error @below {{after schedule: weft.slice of a schedule takes or makes a buffer whose parts lie in one piece each}}
  %a = weft.slice %x starts = [0, 0] limits = [4, 2] strides = [1, 1] {weft.offsets = array<i64: 64>} : tensor<4x4xf32> -> tensor<4x2xf32>
  // expected-error @below {{after schedule: weft.slice of a schedule}}
  %b = weft.slice %x starts = [0, 0] limits = [4, 4] strides = [2, 1] {weft.offsets = array<i64: 64>} : tensor<4x4xf32> -> tensor<2x4xf32>
  // expected-error @below {{after schedule: weft.concat of a schedule}}
  %c = weft.concat %x, %x dim = 1 {weft.offsets = array<i64: 64>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return
}
