// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-insert-reshards --split-input-file --verify-diagnostics

weft.mesh @mesh = <["data"=4, "model"=6]>

// All offenders are named at once, each where it is most likely from.
// expected-error @+1 {{dim 1 of result "y" has size 10, not divisible by 6 shards of {"model"}; nearest legal: {}, {"model":(1)2}; or an axis size that divides 10}}
func.func @indivisible(
    %w: tensor<10x10xf32> {weft.name = "w1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    // expected-error @+1 {{dim 1 of "arg1" has size 12, not divisible by 24 shards of {"data", "model"}; nearest legal: {"data"}, {"data", "model":(1)3}; or axis sizes whose product divides 12}}
    %v: tensor<8x12xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"data", "model"}]>})
    -> (tensor<10x10xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>}) {
  // expected-error @+2 {{dim 0 of a constraint has size 10, not divisible by 4 shards of {"data"}; nearest legal: {}, {"data":(1)2}; or an axis size that divides 10}}
  // expected-note-re @+1 {{so have "w1", math.exp ({{.*}})}}
  %c = weft.constraint %w <@mesh, [{"data"}, {}]> : tensor<10x10xf32>
  %e = math.exp %c {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<10x10xf32>
  return %e : tensor<10x10xf32>
}

// -----

// expected-error @+1 {{cannot partition without a mesh; declare one, for example weft.mesh @mesh = <["data"=1]>}}
module {
  func.func @no_mesh(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

weft.mesh @mesh = <["data"=4]>

func.func @op_without_rule(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  // expected-error @+1 {{before weft-insert-reshards: a graph holds ops of arith, math and weft, got tensor.expand_shape}}
  %y = tensor.expand_shape %x [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

weft.mesh @mesh = <["data"=4]>

// expected-error @+1 {{before weft-insert-reshards: function @control_flow must have one block, got 2}}
func.func @control_flow(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{before weft-insert-reshards: a graph holds ops of arith, math and weft, got cf.br}}
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}
