// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo | FileCheck %s

// CHECK-LABEL: func.func @floats
func.func @floats(%x: tensor<4x8xf32>, %init: tensor<f32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<f32>, tensor<4xf32>) {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %least = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
  %most = "stablehlo.constant"() <{value = dense<0x7F800000> : tensor<f32>}> : () -> tensor<f32>
  // CHECK: weft.reduce sum %arg0 dims = [1]
  %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: weft.reduce max %arg0 dims = [0]
  %1 = "stablehlo.reduce"(%x, %least) <{dimensions = array<i64: 0>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = "stablehlo.maximum"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  // CHECK-NEXT: weft.reduce min %arg0 dims = [0, 1]
  %2 = "stablehlo.reduce"(%x, %most) <{dimensions = array<i64: 1, 0>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = "stablehlo.minimum"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  // An initial value that is not the neutral one is combined at the end.
  // CHECK-NEXT: %[[SUM:.*]] = weft.reduce sum %arg0 dims = [1]
  // CHECK-NEXT: %[[INIT:.*]] = weft.broadcast %arg1
  // CHECK-NEXT: arith.addf %[[SUM]], %[[INIT]]
  %3 = "stablehlo.reduce"(%x, %init) <{dimensions = array<i64: 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<8xf32>, tensor<f32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @integers
func.func @integers(%b: tensor<4x8xi1>, %u: tensor<4x8xui32>, %s: tensor<4x8xi32>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xui32>, tensor<4xi32>) {
  %false = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
  %true = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
  %least = "stablehlo.constant"() <{value = dense<0> : tensor<ui32>}> : () -> tensor<ui32>
  %most = "stablehlo.constant"() <{value = dense<2147483647> : tensor<i32>}> : () -> tensor<i32>
  // "any" and "all"
  // CHECK: weft.reduce max %arg0 dims = [1] : tensor<4x8xi1>
  %0 = "stablehlo.reduce"(%b, %false) <{dimensions = array<i64: 1>}> ({
  ^bb0(%l: tensor<i1>, %r: tensor<i1>):
    %c = "stablehlo.or"(%l, %r) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }) : (tensor<4x8xi1>, tensor<i1>) -> tensor<4xi1>
  // CHECK: weft.reduce min %arg0 dims = [1] : tensor<4x8xi1>
  %1 = "stablehlo.reduce"(%b, %true) <{dimensions = array<i64: 1>}> ({
  ^bb0(%l: tensor<i1>, %r: tensor<i1>):
    %c = "stablehlo.and"(%l, %r) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }) : (tensor<4x8xi1>, tensor<i1>) -> tensor<4xi1>
  // Integers without sign are ordered as those with one after their first bit is
  // flipped.
  // CHECK: %[[BIT:.*]] = arith.constant dense<-2147483648> : tensor<4x8xi32>
  // CHECK: %[[FLIPPED:.*]] = arith.xori %arg1, %[[BIT]]
  // CHECK: %[[MAX:.*]] = weft.reduce max %[[FLIPPED]] dims = [1]
  // CHECK: arith.xori %[[MAX]]
  %2 = "stablehlo.reduce"(%u, %least) <{dimensions = array<i64: 1>}> ({
  ^bb0(%l: tensor<ui32>, %r: tensor<ui32>):
    %c = "stablehlo.maximum"(%l, %r) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    "stablehlo.return"(%c) : (tensor<ui32>) -> ()
  }) : (tensor<4x8xui32>, tensor<ui32>) -> tensor<4xui32>
  // CHECK: weft.reduce min %arg2 dims = [1]
  %3 = "stablehlo.reduce"(%s, %most) <{dimensions = array<i64: 1>}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %c = "stablehlo.minimum"(%l, %r) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%c) : (tensor<i32>) -> ()
  }) : (tensor<4x8xi32>, tensor<i32>) -> tensor<4xi32>
  return %0, %1, %2, %3 : tensor<4xi1>, tensor<4xi1>, tensor<4xui32>, tensor<4xi32>
}

// Running sums: each element with those 1, 2 and 4 places before it.
// CHECK-LABEL: func.func @cumsum
func.func @cumsum(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  // CHECK: weft.slice %arg0
  // CHECK: weft.concat
  // CHECK: %[[TWO:.*]] = arith.addf %arg0
  // CHECK: %[[FOUR:.*]] = arith.addf %[[TWO]]
  // CHECK: arith.addf %[[FOUR]]
  // CHECK-NOT: arith.addf
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [4, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 5>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<2x5xf32>, tensor<f32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}
