// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo --split-input-file --verify-diagnostics | FileCheck %s

// Open and closed dimensions, sub-axes, priorities, replicated and unreduced
// axes mean the same in a graph.

// CHECK: weft.mesh @grid = <["a"=4, "b"=2, "c"=2]>
// CHECK-LABEL: func.func @dims
// CHECK-SAME: [{"a":(1)2, ?}p1, {?}p2], replicated={"b"}>
"sdy.mesh"() <{mesh = #sdy.mesh<["a"=4, "b"=2, "c"=2]>, sym_name = "grid"}> : () -> ()
func.func @dims(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a":(1)2, ?}p1, {?}p2], replicated={"b"}>}) -> tensor<8x8xf32> {
  // CHECK: weft.constraint %{{.*}} <@grid, [{"a", "b"}, {}], unreduced={"c"}>
  %0 = "sdy.sharding_constraint"(%x) <{sharding = #sdy.sharding<@grid, [{"a", "b"}, {}], unreduced={"c"}>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: weft.constraint %{{.*}} <@grid, [{}, {}], unreduced=max{"c"}>
  %1 = "sdy.reshard"(%0) <{sharding = #sdy.sharding<@grid, [{}, {}], unreduced=max{"c"}>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // A sharding of the results of an op is a constraint.
  // CHECK: %[[ABS:.*]] = math.absf
  // CHECK: weft.constraint %[[ABS]] <@grid, [{"b"}, {}]>
  %2 = "stablehlo.abs"(%1) {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"b"}, {}]>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// Meshes that differ in name only are one; a mesh may be written in place, and
// one that nothing names does not count.

// CHECK: weft.mesh @first = <["x"=2]>
// CHECK-NOT: weft.mesh
// CHECK-LABEL: func.func @meshes
// CHECK-SAME: #weft.sharding<@first, [{"x"}]>{{.*}}#weft.sharding<@first, [{"x"}]>{{.*}}#weft.sharding<@first, [{}]>
// CHECK-SAME: %arg3: tensor<8xf32> {weft.name = "arg3"})
"sdy.mesh"() <{mesh = #sdy.mesh<["unused"=3]>, sym_name = "unused"}> : () -> ()
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "first"}> : () -> ()
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "second"}> : () -> ()
"sdy.mesh"() <{mesh = #sdy.mesh<[], device_ids=[0]>, sym_name = "maximal_mesh_0"}> : () -> ()
func.func @meshes(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@first, [{"x"}]>},
                  %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@second, [{"x"}]>},
                  %z: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{}]>},
                  %s: tensor<8xf32> {sdy.sharding = #sdy.sharding<@maximal_mesh_0, []>}) {
  return
}

// -----

// CHECK: weft.mesh @mesh = <["x"=2]> {weft.devices = array<i64: 1, 0>}
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2], device_ids=[1, 0]>, sym_name = "mesh"}> : () -> ()
func.func @order(%x: tensor<8xf32>) {
  return
}

// -----

// A mesh without devices is the same one, whichever comes first.
// CHECK: weft.mesh @abstract = <["x"=2]> {weft.devices = array<i64: 1, 0>}
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "abstract"}> : () -> ()
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2], device_ids=[1, 0]>, sym_name = "placed"}> : () -> ()
func.func @both(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@abstract, [{"x"}]>},
                %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@placed, [{"x"}]>},
                %z: tensor<8xf32> {sdy.sharding = #sdy.sharding<@abstract, [{"x"}]>}) {
  return
}
