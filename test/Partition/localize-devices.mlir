// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What crosses nodes is gathered while it is small. Which axis that is, the devices of the mesh say, or the axis order of
// the cluster.
// RUN: shard-opt %s --weft-propagate --weft-insert-reshards --weft-localize="cluster=dgx-h100" | FileCheck %s
// RUN: sed 's/ {weft.devices.*}//' %s | shard-opt --weft-propagate --weft-insert-reshards --weft-localize="cluster=dgx-h100" | FileCheck %s --check-prefix=ORDERED
// RUN: (echo 'base = "dgx-h100"'; echo 'name = "x first"'; echo '[mesh]'; echo 'axis_order = ["x"]') > %t.toml
// RUN: sed 's/ {weft.devices.*}//' %s | shard-opt --weft-propagate --weft-insert-reshards --weft-localize="cluster=%t.toml" | FileCheck %s

// CHECK: weft.all_to_all {{.*}} over <@mesh, {"y":(2)4}>
// CHECK-NEXT: weft.all_gather {{.*}} over <@mesh, {"y":(1)2}>
// CHECK-NEXT: weft.all_gather {{.*}} over <@mesh, {"x", "y":(2)4}>
// ORDERED: weft.all_gather {{.*}} over <@mesh, {"x"}>
// ORDERED-NEXT: weft.all_gather {{.*}} over <@mesh, {"y"}>

// Devices 0 to 7 are a node: "x" stays in one, and of "y" the upper half crosses.
weft.mesh @mesh = <["x"=2, "y"=8]> {weft.devices = array<i64: 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15>}

func.func @step(%x: tensor<8192x8192xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<8192x8192xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  return %x : tensor<8192x8192xf32>
}
