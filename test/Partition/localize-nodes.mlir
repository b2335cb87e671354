// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sums over several nodes are one call: a library goes through the nodes by itself, with the links of all devices at once.
// In parts, 56 devices would take four times as long.
// RUN: shard-opt %s --weft-propagate --weft-insert-reshards --weft-localize="cluster=dgx-h100" | FileCheck %s

// CHECK-COUNT-1: weft.all_reduce {{.*}} over <@mesh, {"data"}>
// CHECK-NOT: weft.reduce_scatter
// CHECK-NOT: weft.all_gather
weft.mesh @mesh = <["data"=56]>

func.func @step(%x: tensor<57344x8192xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
                %y: tensor<57344x4096xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8192x4096xf32> {weft.name = "z", weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %z = weft.dot_general %x, %y contracting = [0] x [0] : (tensor<57344x8192xf32>, tensor<57344x4096xf32>) -> tensor<8192x4096xf32>
  return %z : tensor<8192x4096xf32>
}
