// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo | FileCheck %s

// The second key first: the order by the first one is stable.
// CHECK-LABEL: func.func @two_keys
func.func @two_keys(%x: tensor<4x8xi32>, %y: tensor<4x8xui32>, %z: tensor<4x8xf32>) -> (tensor<4x8xi32>, tensor<4x8xui32>, tensor<4x8xf32>) {
  // CHECK: %[[SIGNED:.*]] = arith.xori %arg1
  // CHECK: %[[Y:.*]] = weft.argsort %[[SIGNED]] dim = 1 descending
  // CHECK: %[[X:.*]] = weft.gather %arg0, %[[Y]] dim = 1 batching = [0] x [0]
  // CHECK: %[[XY:.*]] = weft.argsort %[[X]] dim = 1 :
  // CHECK: %[[ORDER:.*]] = weft.gather %[[Y]], %[[XY]] dim = 1
  // CHECK: weft.gather %arg0, %[[ORDER]] dim = 1
  // CHECK: weft.gather %arg1, %[[ORDER]] dim = 1
  // CHECK: weft.gather %arg2, %[[ORDER]] dim = 1
  %0:3 = "stablehlo.sort"(%x, %y, %z) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<ui32>, %d: tensor<ui32>, %e: tensor<f32>, %f: tensor<f32>):
    %less = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %equal = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %greater = "stablehlo.compare"(%c, %d) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %second = "stablehlo.and"(%equal, %greater) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %r = "stablehlo.or"(%less, %second) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%r) : (tensor<i1>) -> ()
  }) : (tensor<4x8xi32>, tensor<4x8xui32>, tensor<4x8xf32>) -> (tensor<4x8xi32>, tensor<4x8xui32>, tensor<4x8xf32>)
  return %0#0, %0#1, %0#2 : tensor<4x8xi32>, tensor<4x8xui32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @top_k
func.func @top_k(%x: tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // CHECK: %[[FIRST:.*]] = weft.argsort %arg0 dim = 1 descending : tensor<4x8xf32> -> tensor<4x2xi32>
  // CHECK: weft.gather %arg0, %[[FIRST]] dim = 1 batching = [0] x [0]
  %0:2 = "chlo.top_k"(%x) <{k = 2 : i64}> : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return %0#0, %0#1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// The last update of an element: of the sorted indices, the last of those that
// are equal.
// CHECK-LABEL: func.func @set
func.func @set(%x: tensor<16x4xf32>, %i: tensor<6x1xi32>, %u: tensor<6x4xf32>) -> (tensor<16x4xf32>, tensor<16x4xf32>) {
  // CHECK: %[[I:.*]] = weft.reshape %arg1
  // CHECK: %[[ORDER:.*]] = weft.argsort %[[I]] dim = 0
  // CHECK: %[[SORTED:.*]] = weft.gather %[[I]], %[[ORDER]]
  // CHECK: %[[UPDATES:.*]] = weft.gather %arg2, %[[ORDER]]
  // CHECK: %[[LAST:.*]] = arith.select %{{.*}}, %{{.*}}, %[[SORTED]]
  // CHECK: weft.scatter_add %{{.*}}, %[[LAST]] dim = 0 : (tensor<6xi32>, tensor<6xi32>) -> tensor<16xi32>
  // CHECK: %[[TAKEN:.*]] = weft.gather %[[UPDATES]]
  // CHECK: arith.select %{{.*}}, %[[TAKEN]], %arg0
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }) : (tensor<16x4xf32>, tensor<6x1xi32>, tensor<6x4xf32>) -> tensor<16x4xf32>
  // Each element has one update only.
  // CHECK-NOT: weft.argsort
  // CHECK: arith.maximumf %arg0
  %1 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<16x4xf32>, tensor<6x1xi32>, tensor<6x4xf32>) -> tensor<16x4xf32>
  return %0, %1 : tensor<16x4xf32>, tensor<16x4xf32>
}
