// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A training step in forms 1 to 4; each passes the check of its form.
// RUN: split-file %s %t
// RUN: shard-opt %t/graph.mlir --weft-verify-form=form=graph -o /dev/null
// RUN: shard-opt %t/sharded.mlir --weft-verify-form=form=sharded -o /dev/null
// RUN: shard-opt %t/spmd.mlir --weft-verify-form=form=spmd -o /dev/null
// RUN: shard-opt %t/schedule.mlir --weft-verify-form=form=schedule -o /dev/null

// The check is not vacuous: a graph is no sharded graph.
// RUN: not shard-opt %t/graph.mlir --weft-verify-form=form=sharded -o /dev/null 2>&1 | FileCheck %s
// CHECK: error: after propagate: argument 0 of @step has no weft.sharding

//--- graph.mlir
weft.mesh @mesh = <["x"=4]>
func.func @step(%w: tensor<8x2xf32> {weft.name = "w"},
                %x: tensor<16x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x2xf32> {weft.name = "w"}) {
  %y = weft.dot_general %x, %x contracting = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %d = weft.dot_general %y, %w contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %n = arith.addf %w, %d : tensor<8x2xf32>
  return %n : tensor<8x2xf32>
}

//--- sharded.mlir
weft.mesh @mesh = <["x"=4]>
func.func @step(%w: tensor<8x2xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
                %x: tensor<16x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x2xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %y = weft.dot_general %x, %x contracting = [0] x [0] {weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"x"}>]} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %d = weft.dot_general %y, %w contracting = [1] x [0] {weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"x"}>]} : (tensor<8x8xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %n = arith.addf %w, %d {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<8x2xf32>
  return %n : tensor<8x2xf32>
}

//--- spmd.mlir
weft.mesh @mesh = <["x"=4]>
func.func @step(%w: tensor<8x2xf32> {weft.name = "w", weft.global_type = tensor<8x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
                %x: tensor<4x8xf32> {weft.global_type = tensor<16x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x2xf32> {weft.name = "w", weft.global_type = tensor<8x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %y = weft.dot_general %x, %x contracting = [0] x [0] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %d = weft.dot_general %y, %w contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %r = weft.all_reduce sum %d over <@mesh, {"x"}> : tensor<8x2xf32>
  %n = arith.addf %w, %r : tensor<8x2xf32>
  return %n : tensor<8x2xf32>
}

//--- schedule.mlir
weft.mesh @mesh = <["x"=4]>
func.func private @add(%a: tensor<8x2xf32>, %b: tensor<8x2xf32>) -> tensor<8x2xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<8x2xf32>
  return %n : tensor<8x2xf32>
}
func.func @step(%w: tensor<8x2xf32> {weft.name = "w", weft.offset = 0 : i64, weft.global_type = tensor<8x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>})
    -> (tensor<8x2xf32> {weft.name = "w", weft.global_type = tensor<8x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>})
    attributes {weft.arena_bytes = 128} {
  %p = weft.start all_reduce %w sum over <@mesh, {"x"}> {weft.offsets = array<i64: 64>} : tensor<8x2xf32> -> !weft.pending<tensor<8x2xf32>>
  %r = weft.wait %p {weft.offsets = array<i64: 64>} : !weft.pending<tensor<8x2xf32>>
  %n = weft.launch @add(%w, %r) in_place = [0] {weft.offsets = array<i64: 0>} : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  return %n : tensor<8x2xf32>
}
