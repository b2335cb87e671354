// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

weft.mesh @mesh = <["a"=2, "b"=2, "c"=4, "d"=2, "e"=2]>

// CHECK-LABEL: func.func @every_spelling
func.func @every_spelling(
    // CHECK-SAME: #weft.sharding<@mesh, [{"a", "b"}, {"c":(1)2, ?}p1, {}], replicated={"d"}, unreduced={"e"}>
    %x: tensor<8x8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", "b"}, {"c":(1)2, ?}p1, {}], replicated={"d"}, unreduced={"e"}>},
    // CHECK-SAME: #weft.sharding<@mesh, [{?}, {}], unreduced=max{"a", "c":(2)2}>
    %y: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {}], unreduced=max{"a", "c":(2)2}>},
    // CHECK-SAME: #weft.sharding<@mesh, [{"a"}p0, {?}p2], replicated={"b", "c"}>
    %z: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}p0, {?}p2], replicated={"b", "c"}>},
    // CHECK-SAME: #weft.sharding<@mesh, [], unreduced=min{"a"}>
    %s: tensor<f32> {weft.sharding = #weft.sharding<@mesh, [], unreduced=min{"a"}>},
    // `sum` is the reduction that need not be written.
    // CHECK-SAME: #weft.sharding<@mesh, [], unreduced={"a"}>
    %t: tensor<f32> {weft.sharding = #weft.sharding<@mesh, [], unreduced=sum{"a"}>}) {
  return
}

// CHECK-LABEL: func.func private @attributes
// CHECK-SAME: axes = #weft.axes<@mesh, {"a", "c":(1)2}>
// CHECK-SAME: none = #weft.axes<@mesh, {}>
// CHECK-SAME: reductions = [#weft.reduction<sum>, #weft.reduction<max>, #weft.reduction<min>]
func.func private @attributes() attributes {
  axes = #weft.axes<@mesh, {"a", "c":(1)2}>,
  none = #weft.axes<@mesh, {}>,
  reductions = [#weft.reduction<sum>, #weft.reduction<max>, #weft.reduction<min>]
}

// CHECK-LABEL: func.func @on_results
// CHECK-SAME: -> (tensor<8xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"a"}]>})
func.func @on_results(%x: tensor<8xf32>) -> (tensor<8xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  // CHECK: arith.negf %{{.*}} {weft.shardings = [#weft.sharding<@mesh, [{"a", ?}]>]}
  %y = arith.negf %x {weft.shardings = [#weft.sharding<@mesh, [{"a", ?}]>]} : tensor<8xf32>
  return %y : tensor<8xf32>
}
