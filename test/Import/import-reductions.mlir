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

// Sums of equal elements are products, of numbers that the type has.
// CHECK-LABEL: func.func @equal
func.func @equal(%x: tensor<4x8xf32>, %y: tensor<4xbf16>) -> (tensor<4xf32>, tensor<5x4xf32>, tensor<bf16>, tensor<4xbf16>) {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %none = "stablehlo.constant"() <{value = dense<0.0> : tensor<bf16>}> : () -> tensor<bf16>
  %b = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<4x8xf32>) -> tensor<6x4x8xf32>
  // CHECK: %[[A:.*]] = weft.reduce sum %arg0 dims = [1]
  // CHECK: %[[SIX:.*]] = arith.constant dense<6.000000e+00> : tensor<4xf32>
  // CHECK: arith.mulf %[[A]], %[[SIX]]
  %0 = "stablehlo.reduce"(%b, %zero) <{dimensions = array<i64: 0, 2>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<6x4x8xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: %[[S:.*]] = weft.slice %arg0
  // CHECK: %[[R:.*]] = weft.reshape %[[S]]
  // CHECK: %[[B:.*]] = weft.broadcast %[[R]] {{.*}} -> tensor<5x4xf32>
  // CHECK: %[[THREE:.*]] = arith.constant dense<3.000000e+00> : tensor<5x4xf32>
  // CHECK: arith.mulf %[[B]], %[[THREE]]
  %s = "stablehlo.slice"(%x) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 4, 1>, strides = array<i64: 1, 1>}> : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %v = "stablehlo.reshape"(%s) : (tensor<4x1xf32>) -> tensor<4xf32>
  %d = "stablehlo.broadcast_in_dim"(%v) <{broadcast_dimensions = array<i64: 2>}> : (tensor<4xf32>) -> tensor<3x5x4xf32>
  %1 = "stablehlo.reduce"(%d, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<3x5x4xf32>, tensor<f32>) -> tensor<5x4xf32>
  // CHECK: weft.reduce sum %arg1 dims = [0] : tensor<4xbf16>
  %2 = "stablehlo.reduce"(%y, %none) <{dimensions = array<i64: 0>}> ({
  ^bb0(%l: tensor<bf16>, %r: tensor<bf16>):
    %c = "stablehlo.add"(%l, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    "stablehlo.return"(%c) : (tensor<bf16>) -> ()
  }) : (tensor<4xbf16>, tensor<bf16>) -> tensor<bf16>
  // bfloat16 has no 257.
  // CHECK: weft.reduce sum %{{.*}} dims = [1] : tensor<4x257xbf16>
  %w = "stablehlo.broadcast_in_dim"(%y) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xbf16>) -> tensor<4x257xbf16>
  %3 = "stablehlo.reduce"(%w, %none) <{dimensions = array<i64: 1>}> ({
  ^bb0(%l: tensor<bf16>, %r: tensor<bf16>):
    %c = "stablehlo.add"(%l, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    "stablehlo.return"(%c) : (tensor<bf16>) -> ()
  }) : (tensor<4x257xbf16>, tensor<bf16>) -> tensor<4xbf16>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<5x4xf32>, tensor<bf16>, tensor<4xbf16>
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

// A graph has no op for products: half by half, 16 bits in f32.
// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<4x5xbf16>, %i: tensor<4xi32>) -> (tensor<4xbf16>, tensor<i32>) {
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<bf16>}> : () -> tensor<bf16>
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  // CHECK: arith.extf %arg0
  // CHECK: arith.mulf {{.*}} : tensor<4x2xf32>
  // CHECK: weft.concat
  // CHECK: arith.mulf {{.*}} : tensor<4x1xf32>
  // CHECK: arith.mulf {{.*}} : tensor<4x1xf32>
  // CHECK: arith.truncf {{.*}} : tensor<4xf32> to tensor<4xbf16>
  %0 = "stablehlo.reduce"(%x, %one) <{dimensions = array<i64: 1>}> ({
  ^bb0(%l: tensor<bf16>, %r: tensor<bf16>):
    %c = "stablehlo.multiply"(%l, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    "stablehlo.return"(%c) : (tensor<bf16>) -> ()
  }) : (tensor<4x5xbf16>, tensor<bf16>) -> tensor<4xbf16>
  // CHECK: arith.xori {{.*}} : tensor<2xi32>
  // CHECK: arith.xori {{.*}} : tensor<1xi32>
  %1 = "stablehlo.reduce"(%i, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %c = "stablehlo.xor"(%l, %r) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%c) : (tensor<i32>) -> ()
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  return %0, %1 : tensor<4xbf16>, tensor<i32>
}

// The index of the first NaN, else of the first of the smallest elements.
// CHECK-LABEL: func.func @argmin
func.func @argmin(%x: tensor<4x8xf32>) -> tensor<4xi32> {
  %most = "stablehlo.constant"() <{value = dense<0x7F800000> : tensor<f32>}> : () -> tensor<f32>
  %first = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  // CHECK: %[[INDEX:.*]] = weft.iota dim = 1
  %index = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x8xi32>
  // CHECK: %[[MIN:.*]] = weft.reduce min %arg0 dims = [1]
  // CHECK: %[[SPREAD:.*]] = weft.broadcast %[[MIN]] dims = [0]
  // CHECK: %[[NAN:.*]] = arith.cmpf uno, %arg0, %arg0
  // CHECK: %[[EQUAL:.*]] = arith.cmpf oeq, %arg0, %[[SPREAD]]
  // CHECK: %[[HERE:.*]] = arith.ori %[[EQUAL]], %[[NAN]]
  // CHECK: %[[INDICES:.*]] = arith.select %[[HERE]], %[[INDEX]], %
  // CHECK: weft.reduce min %[[INDICES]] dims = [1]
  %0:2 = "stablehlo.reduce"(%x, %index, %most, %first) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %i: tensor<i32>, %b: tensor<f32>, %j: tensor<i32>):
    %less = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %nan = "stablehlo.compare"(%a, %a) <{comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %here = "stablehlo.or"(%less, %nan) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %equal = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %before = "stablehlo.compare"(%i, %j) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = "stablehlo.and"(%equal, %before) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %or = "stablehlo.or"(%here, %tie) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %value = "stablehlo.select"(%here, %a, %b) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %at = "stablehlo.select"(%or, %i, %j) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%value, %at) : (tensor<f32>, tensor<i32>) -> ()
  }) : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
  return %0#1 : tensor<4xi32>
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
