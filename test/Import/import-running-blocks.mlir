// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo | FileCheck %s

// Running sums of a dimension that a mesh may split are those of its blocks,
// each with the sum of the blocks before it.

"sdy.mesh"() <{mesh = #sdy.mesh<["a"=2, "b"=4]>, sym_name = "mesh"}> : () -> ()

// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[X:.*]]: tensor<6x3xf32>
func.func @forward(%x: tensor<6x3xf32>) -> tensor<6x3xf32> {
  // CHECK: %[[BLOCKS:.*]] = weft.reshape %[[X]] : tensor<6x3xf32> -> tensor<2x3x3xf32>
  // CHECK: weft.concat {{.*}} dim = 1
  // CHECK: arith.addf {{.*}} : tensor<2x3x3xf32>
  // CHECK: weft.concat {{.*}} dim = 1
  // CHECK: %[[WITHIN:.*]] = arith.addf {{.*}} : tensor<2x3x3xf32>
  // CHECK: %[[LAST:.*]] = weft.slice %[[WITHIN]] starts = [0, 2, 0] limits = [2, 3, 3]
  // CHECK: %[[TOTALS:.*]] = weft.reshape %[[LAST]] : tensor<2x1x3xf32> -> tensor<2x3xf32>
  // CHECK: arith.addf %[[TOTALS]], %{{.*}} : tensor<2x3xf32>
  // CHECK: %[[BEFORE:.*]] = weft.concat {{.*}} dim = 0
  // CHECK: %[[SPREAD:.*]] = weft.broadcast %[[BEFORE]] dims = [0, 2]
  // CHECK: %[[SUM:.*]] = arith.addf %[[SPREAD]], %[[WITHIN]]
  // CHECK: weft.reshape %[[SUM]] : tensor<2x3x3xf32> -> tensor<6x3xf32>
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[5, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 6, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<6x3xf32>, tensor<f32>) -> tensor<6x3xf32>
  return %0 : tensor<6x3xf32>
}

// The first element of a block has what the block combines to.

// CHECK-LABEL: func.func @reversed
func.func @reversed(%x: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: weft.reshape %arg0 : tensor<16xf32> -> tensor<8x2xf32>
  // CHECK: %[[WITHIN:.*]] = arith.maximumf {{.*}} : tensor<8x2xf32>
  // CHECK: weft.slice %[[WITHIN]] starts = [0, 0] limits = [8, 1]
  %least = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %least) <{padding = dense<[[0, 15]]> : tensor<1x2xi64>, window_dimensions = array<i64: 16>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// Blocks of one element, or of a dimension that no axis divides, would be none.

// CHECK-LABEL: func.func @undivided
func.func @undivided(%x: tensor<8x5xf32>) -> tensor<8x5xf32> {
  // CHECK-NOT: weft.reshape
  // CHECK: return
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[7, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 8, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<8x5xf32>, tensor<f32>) -> tensor<8x5xf32>
  %1 = "stablehlo.reduce_window"(%0, %zero) <{padding = dense<[[0, 0], [4, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 5>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<8x5xf32>, tensor<f32>) -> tensor<8x5xf32>
  return %1 : tensor<8x5xf32>
}
