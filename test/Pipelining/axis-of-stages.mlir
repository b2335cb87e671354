// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Devices along an axis that splits nothing hold copies, and share the work of a
// large reduction. Those along the axis of a pipeline hold other stages.
// RUN: shard-opt %s --split-input-file --weft-optimize-shardings=cluster=%S/../Partition/Inputs/uniform.toml --weft-insert-reshards=cluster=%S/../Partition/Inputs/uniform.toml --weft-localize=cluster=%S/../Partition/Inputs/uniform.toml | FileCheck %s

// CHECK: weft.all_slice {{.*}} over <@mesh, {"pipe"}>
// CHECK: weft.reduce_scatter {{.*}} over <@mesh, {"tensor"}>
weft.mesh @mesh = <["pipe"=4, "tensor"=8]>
func.func @copies(%x: tensor<8192x8192xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {"tensor"}]>},
                  %w: tensor<8192x8192xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"tensor"}, {}]>})
    -> (tensor<8192x8192xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %y = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<8192x8192xf32>, tensor<8192x8192xf32>) -> tensor<8192x8192xf32>
  return %y : tensor<8192x8192xf32>
}

// -----

// CHECK-LABEL: module attributes {weft.pipeline = {axis = "pipe", schedule = "1f1b"}
// CHECK-NOT: {"pipe"}
// CHECK: weft.all_reduce {{.*}} over <@mesh, {"tensor"}>
// CHECK-NOT: {"pipe"}
module attributes {weft.pipeline = {axis = "pipe", schedule = "1f1b"}, weft.stages = 4 : i64} {
  weft.mesh @mesh = <["pipe"=4, "tensor"=8]>
  func.func @stages(%x: tensor<8192x8192xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {"tensor"}]>},
                    %w: tensor<8192x8192xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"tensor"}, {}]>})
      -> (tensor<8192x8192xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %y = weft.dot_general %x, %w contracting = [1] x [0] {weft.origin = #weft.origin<stage = 0>}
        : (tensor<8192x8192xf32>, tensor<8192x8192xf32>) -> tensor<8192x8192xf32>
    return %y : tensor<8192x8192xf32>
  }
}
