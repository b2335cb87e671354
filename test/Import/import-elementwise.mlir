// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo | FileCheck %s

// CHECK-LABEL: func.func @floats
func.func @floats(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[POWER:.*]] = math.powf %arg0, %arg1
  %a = "stablehlo.power"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[NEG:.*]] = arith.negf %[[POWER]]
  %b = "stablehlo.negate"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: arith.mulf %[[NEG]], %[[NEG]]
  %c = "chlo.square"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: math.rsqrt
  %d = "stablehlo.rsqrt"(%c) : (tensor<4xf32>) -> tensor<4xf32>
  // The op with a derivative of its own, not a quotient of exponentials.
  // CHECK: weft.logistic %arg0
  %e = "stablehlo.logistic"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // The sign is that of x, or x itself: a zero or a NaN. No derivative goes
  // through, at zero either.
  // CHECK: %[[X:.*]] = weft.stop_gradient %arg0
  // CHECK: %[[HAS:.*]] = arith.cmpf one, %[[X]]
  // CHECK: %[[SIGN:.*]] = math.copysign %{{.*}}, %[[X]]
  // CHECK: arith.select %[[HAS]], %[[SIGN]], %[[X]]
  %f = "stablehlo.sign"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // The op that is flat at its bounds.
  // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
  // CHECK: math.clampf %arg0 to [%[[ZERO]], %arg1]
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %g = "stablehlo.clamp"(%zero, %x, %y) : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // No root of what has an infinite derivative.
  // CHECK: math.log1p
  // CHECK: %[[CENTRAL:.*]] = arith.cmpf olt
  // CHECK: %[[OUTER:.*]] = arith.select %[[CENTRAL]]
  // CHECK: math.sqrt %[[OUTER]]
  %h = "chlo.erf_inv"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %d, %e, %f, %g, %h : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A comparison is ordered, but for "not equal".

// CHECK-LABEL: func.func @comparisons
func.func @comparisons(%x: tensor<4xf32>, %i: tensor<4xi32>, %u: tensor<4xui32>, %b: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  // CHECK: arith.cmpf une, %arg0, %arg0
  %0 = "stablehlo.compare"(%x, %x) <{comparison_direction = #stablehlo<comparison_direction NE>, compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: arith.cmpf oge, %arg0, %arg0
  %1 = "stablehlo.compare"(%x, %x) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: %[[N:.*]] = arith.constant dense<7>
  // CHECK: arith.cmpi slt, %arg1, %[[N]]
  %n = "stablehlo.constant"() <{value = dense<7> : tensor<4xi32>}> : () -> tensor<4xi32>
  %2 = "stablehlo.compare"(%i, %n) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // CHECK: %[[M:.*]] = arith.constant dense<-1>
  // CHECK: arith.cmpi ugt, %arg2, %[[M]]
  %m = "stablehlo.constant"() <{value = dense<4294967295> : tensor<4xui32>}> : () -> tensor<4xui32>
  %3 = "stablehlo.compare"(%u, %m) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xi1>
  // CHECK: %[[SIZE:.*]] = math.absf %arg0
  // CHECK: %[[INF:.*]] = arith.constant dense<0x7F800000>
  // CHECK: arith.cmpf olt, %[[SIZE]], %[[INF]]
  %4 = "stablehlo.is_finite"(%x) : (tensor<4xf32>) -> tensor<4xi1>
  // CHECK: %[[TRUE:.*]] = arith.constant dense<true>
  // CHECK: arith.xori %arg3, %[[TRUE]]
  %5 = "stablehlo.not"(%b) : (tensor<4xi1>) -> tensor<4xi1>
  return %0, %1, %2, %3, %4, %5 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// Integers without sign are held as plain ones; the ops know.

// CHECK-LABEL: func.func @integers
// CHECK-SAME: %[[U:.*]]: tensor<4xi32> {{.*}}, %[[S:.*]]: tensor<4xi32> {{.*}}, %[[B:.*]]: tensor<4xi1> {{.*}}, %[[C:.*]]: tensor<4xi1> {{.*}})
func.func @integers(%u: tensor<4xui32>, %s: tensor<4xi32>, %b: tensor<4xi1>, %c: tensor<4xi1>) -> (tensor<4xui32>, tensor<4xui32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi1>, tensor<4xui32>) {
  // CHECK: arith.divui %[[U]], %[[U]]
  %0 = "stablehlo.divide"(%u, %u) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  // CHECK: arith.maxui
  %1 = "stablehlo.maximum"(%u, %0) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  // CHECK: arith.remsi %[[S]], %[[S]]
  %2 = "stablehlo.remainder"(%s, %s) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: math.absi
  %3 = "stablehlo.abs"(%2) : (tensor<4xi32>) -> tensor<4xi32>
  // CHECK: arith.ori %[[B]], %[[C]]
  %4 = "stablehlo.add"(%b, %c) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // CHECK: %[[L:.*]] = arith.shli %[[U]], %[[U]]
  // CHECK: %[[R:.*]] = arith.shrui %[[U]], %[[U]]
  // CHECK: arith.xori %[[L]], %[[R]]
  %l = "stablehlo.shift_left"(%u, %u) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  %r = "stablehlo.shift_right_logical"(%u, %u) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  %5 = "stablehlo.xor"(%l, %r) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  return %0, %1, %2, %3, %4, %5 : tensor<4xui32>, tensor<4xui32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi1>, tensor<4xui32>
}

// A scalar condition is spread; one that is a constant decides.

// CHECK-LABEL: func.func @selects
func.func @selects(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[C:.*]] = weft.broadcast %arg0 dims = []
  // CHECK: %[[R:.*]] = arith.select %[[C]], %arg1, %arg2
  %0 = "stablehlo.select"(%c, %x, %y) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %false = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
  %1 = "stablehlo.select"(%false, %x, %y) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: return %[[R]], %arg2
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @hyperbolic_and_inverse
func.func @hyperbolic_and_inverse(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: math.sinh
  %a = "chlo.sinh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: math.cosh
  %b = "chlo.cosh"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: math.asin
  %c = "chlo.asin"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: math.acos
  %d = "chlo.acos"(%c) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: math.atan
  %e = "chlo.atan"(%d) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: math.asinh
  %f = "chlo.asinh"(%e) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: math.acosh
  %g = "chlo.acosh"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: math.atanh
  %h = "chlo.atanh"(%g) : (tensor<4xf32>) -> tensor<4xf32>
  return %h : tensor<4xf32>
}

// Of 16 bits in f32, which has all of their numbers in the same order.
// CHECK-LABEL: func.func @total_order
func.func @total_order(%x: tensor<4xbf16>, %y: tensor<4xbf16>) -> tensor<4xi1> {
  // CHECK: %[[X:.*]] = arith.extf %arg0
  // CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : tensor<4xf32> to tensor<4xi32>
  // CHECK: %[[SIGN:.*]] = arith.shrsi %[[BITS]]
  // CHECK: %[[OTHERS:.*]] = arith.andi %[[SIGN]]
  // CHECK: %[[ORDERED:.*]] = arith.xori %[[BITS]], %[[OTHERS]]
  // CHECK: arith.cmpi sgt, %[[ORDERED]], %
  %0 = "stablehlo.compare"(%x, %y) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
