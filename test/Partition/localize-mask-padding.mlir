// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-localize --weft-verify-form=form=spmd --split-input-file | FileCheck %s

weft.mesh @mesh = <["a"=4]>

// A place in the part is compared with the elements from its first one on. The
// global type stays that of the program.
// CHECK-LABEL: func.func @split
// CHECK-SAME:      %[[X:.*]]: tensor<3x2xf32> {weft.global_type = tensor<10x2xf32>
// CHECK-DAG:     %[[SIZE:.*]] = arith.constant dense<10> : tensor<i32>
// CHECK-DAG:     %[[AT:.*]] = weft.position over <@mesh, {"a"}>
// CHECK:         %[[FIRST:.*]] = arith.muli %[[AT]], %{{.*}} : tensor<i32>
// CHECK:         %[[LEFT:.*]] = arith.subi %[[SIZE]], %[[FIRST]] : tensor<i32>
// CHECK:         %[[LIMIT:.*]] = weft.broadcast %[[LEFT]] dims = [] : tensor<i32> -> tensor<3x2xi32>
// CHECK:         %[[PLACE:.*]] = weft.iota dim = 0 : tensor<3x2xi32>
// CHECK:         %[[IS:.*]] = arith.cmpi slt, %[[PLACE]], %[[LIMIT]]
// CHECK:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<3x2xf32>
// CHECK:         arith.select %[[IS]], %[[X]], %[[ZERO]]
func.func @split(%x: tensor<12x2xf32> {weft.global_type = tensor<10x2xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>})
    -> (tensor<12x2xf32> {weft.global_type = tensor<10x2xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>}) {
  %y = weft.mask_padding %x dim = 0 size = 10 value = 0.0 : f32 {weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}]>]} : tensor<12x2xf32>
  return %y : tensor<12x2xf32>
}

// -----

weft.mesh @mesh = <["a"=4]>

// CHECK-LABEL: func.func @whole
// CHECK-NOT:     weft.position
// CHECK:         arith.cmpi slt
// CHECK:         arith.constant dense<0xFF800000> : tensor<12x2xf32>
// CHECK:         arith.select
func.func @whole(%x: tensor<12x2xf32>) -> tensor<12x2xf32> {
  %y = weft.mask_padding %x dim = 0 size = 10 value = 0xFF800000 : f32 : tensor<12x2xf32>
  return %y : tensor<12x2xf32>
}
