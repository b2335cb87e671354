// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-pad-dimensions --split-input-file --verify-diagnostics

weft.mesh @mesh = <["data"=4, "model"=6]>

// All offenders are named at once.
// expected-error @+1 {{dim 1 of result "y" has size 5, fewer than its 6 shards of {"model"}; nearest legal: {}; or axes of at most 5 shards}}
func.func @too_small(
    // expected-error @+1 {{dim 0 of "w1" has size 2, fewer than its 4 shards of {"data"}; nearest legal: {}, {"data":(1)2}; or axes of at most 2 shards}}
    %w: tensor<2x5xf32> {weft.name = "w1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<2x5xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>}) {
  // expected-error @+1 {{dim 0 of a constraint has size 2, fewer than its 24 shards of {"data", "model"}; nearest legal: {}, {"data":(1)2}; or axes of at most 2 shards}}
  %c = weft.constraint %w <@mesh, [{"data", "model"}, {}]> : tensor<2x5xf32>
  return %c : tensor<2x5xf32>
}

// -----

weft.mesh @mesh = <["data"=4]>

// What one sharding does to many values is one problem, that of who wrote it.
func.func @passed_on(
    // expected-error @+2 {{dim 0 of "x" has size 1, fewer than its 4 shards of {"data"}; nearest legal: {}; or axes of at most 1 shard}}
    // expected-note-re @+1 {{so have result "y", math.tanh ({{.*}}), math.exp ({{.*}}) and 1 more}}
    %x: tensor<1x5xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<1x5xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %a = math.tanh %x {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<1x5xf32>
  %b = math.exp %a {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<1x5xf32>
  %c = math.sin %b {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<1x5xf32>
  return %c : tensor<1x5xf32>
}
