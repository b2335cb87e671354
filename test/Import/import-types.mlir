// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo | FileCheck %s

// CHECK-LABEL: func.func @converts
// CHECK-SAME: %[[F:.*]]: tensor<4xf32> {{.*}}, %[[S:.*]]: tensor<4xi32> {{.*}}, %[[U:.*]]: tensor<4xi32> {{.*}}, %[[B:.*]]: tensor<4xi1> {{.*}})
func.func @converts(%f: tensor<4xf32>, %s: tensor<4xi32>, %u: tensor<4xui32>, %b: tensor<4xi1>)
    -> (tensor<4xbf16>, tensor<4xi64>, tensor<4xf32>, tensor<4xui32>, tensor<4xi8>, tensor<4xf32>, tensor<4xi64>, tensor<4xi1>, tensor<4xi32>) {
  // CHECK: arith.truncf %[[F]] : tensor<4xf32> to tensor<4xbf16>
  %0 = "stablehlo.convert"(%f) : (tensor<4xf32>) -> tensor<4xbf16>
  // CHECK: arith.extsi %[[S]] : tensor<4xi32> to tensor<4xi64>
  %1 = "stablehlo.convert"(%s) : (tensor<4xi32>) -> tensor<4xi64>
  // CHECK: arith.uitofp %[[U]]
  %2 = "stablehlo.convert"(%u) : (tensor<4xui32>) -> tensor<4xf32>
  // CHECK: arith.fptoui %[[F]]
  %3 = "stablehlo.convert"(%f) : (tensor<4xf32>) -> tensor<4xui32>
  // CHECK: arith.trunci %[[S]] : tensor<4xi32> to tensor<4xi8>
  %4 = "stablehlo.convert"(%s) : (tensor<4xi32>) -> tensor<4xi8>
  // CHECK: arith.uitofp %[[B]] : tensor<4xi1> to tensor<4xf32>
  %5 = "stablehlo.convert"(%b) : (tensor<4xi1>) -> tensor<4xf32>
  // CHECK: arith.extui %[[U]] : tensor<4xi32> to tensor<4xi64>
  %6 = "stablehlo.convert"(%u) : (tensor<4xui32>) -> tensor<4xi64>
  // CHECK: arith.cmpf une, %[[F]]
  %7 = "stablehlo.convert"(%f) : (tensor<4xf32>) -> tensor<4xi1>
  // CHECK: return {{.*}}, %[[U]] :
  %8 = "stablehlo.convert"(%u) : (tensor<4xui32>) -> tensor<4xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<4xbf16>, tensor<4xi64>, tensor<4xf32>, tensor<4xui32>, tensor<4xi8>, tensor<4xf32>, tensor<4xi64>, tensor<4xi1>, tensor<4xi32>
}

// bf16 and f16 hold numbers that the other one does not.
// CHECK-LABEL: func.func @halves
func.func @halves(%h: tensor<4xf16>, %d: tensor<4xf64>) -> (tensor<4xf32>, tensor<4xbf16>, tensor<4xf16>, tensor<4xi32>) {
  // CHECK: arith.extf %arg0 : tensor<4xf16> to tensor<4xf32>
  %0 = "stablehlo.convert"(%h) : (tensor<4xf16>) -> tensor<4xf32>
  // CHECK: %[[WIDE:.*]] = arith.extf %arg0 : tensor<4xf16> to tensor<4xf32>
  // CHECK: arith.truncf %[[WIDE]] : tensor<4xf32> to tensor<4xbf16>
  %1 = "stablehlo.convert"(%h) : (tensor<4xf16>) -> tensor<4xbf16>
  // CHECK: arith.truncf %arg1 : tensor<4xf64> to tensor<4xf16>
  %2 = "stablehlo.convert"(%d) : (tensor<4xf64>) -> tensor<4xf16>
  // CHECK: arith.fptosi %arg0 : tensor<4xf16> to tensor<4xi32>
  %3 = "stablehlo.convert"(%h) : (tensor<4xf16>) -> tensor<4xi32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xbf16>, tensor<4xf16>, tensor<4xi32>
}

// CHECK-LABEL: func.func @bits
func.func @bits(%f: tensor<4xf32>, %u: tensor<4xui32>) -> (tensor<4xui32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: arith.bitcast %arg0 : tensor<4xf32> to tensor<4xi32>
  %0 = "stablehlo.bitcast_convert"(%f) : (tensor<4xf32>) -> tensor<4xui32>
  %1 = "stablehlo.bitcast_convert"(%u) : (tensor<4xui32>) -> tensor<4xi32>
  // CHECK: %[[NARROW:.*]] = arith.truncf %arg0 : tensor<4xf32> to tensor<4xbf16>
  // CHECK: arith.extf %[[NARROW]] : tensor<4xbf16> to tensor<4xf32>
  %2 = "stablehlo.reduce_precision"(%f) <{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: return %{{.*}}, %arg1, %{{.*}}, %arg0
  %3 = "stablehlo.reduce_precision"(%f) <{exponent_bits = 8 : i32, mantissa_bits = 23 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xui32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @widths
func.func @widths(%i: tensor<4xui32>, %b: tensor<4x2xbf16>) -> (tensor<4x2xui16>, tensor<4xf32>) {
  // CHECK: %[[LOW:.*]] = arith.trunci %{{.*}} : tensor<4xi32> to tensor<4xi16>
  // CHECK: %[[FIRST:.*]] = weft.reshape %[[LOW]] : tensor<4xi16> -> tensor<4x1xi16>
  // CHECK: %[[HIGH:.*]] = arith.shrui %arg0
  // CHECK: %[[PIECE:.*]] = arith.trunci %[[HIGH]]
  // CHECK: %[[SECOND:.*]] = weft.reshape %[[PIECE]]
  // CHECK: weft.concat %[[FIRST]], %[[SECOND]] dim = 1
  %0 = "stablehlo.bitcast_convert"(%i) : (tensor<4xui32>) -> tensor<4x2xui16>
  // CHECK: arith.bitcast %arg1 : tensor<4x2xbf16> to tensor<4x2xi16>
  // CHECK: %[[BITS:.*]] = arith.ori
  // CHECK: arith.bitcast %[[BITS]] : tensor<4xi32> to tensor<4xf32>
  %1 = "stablehlo.bitcast_convert"(%b) : (tensor<4x2xbf16>) -> tensor<4xf32>
  return %0, %1 : tensor<4x2xui16>, tensor<4xf32>
}

// CHECK-LABEL: func.func @constants
func.func @constants() -> (tensor<2xf32>, tensor<2xui32>, tensor<2xf32>) {
  // CHECK: arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %0 = "stablehlo.constant"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
  // CHECK: arith.constant dense<[-1, 3]> : tensor<2xi32>
  %1 = "stablehlo.constant"() <{value = dense<[4294967295, 3]> : tensor<2xui32>}> : () -> tensor<2xui32>
  // CHECK: arith.constant dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf32>
  %2 = "stablehlo.constant"() <{value = dense_resource<bits> : tensor<2xf32>}> : () -> tensor<2xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<2xui32>, tensor<2xf32>
}

{-#
  dialect_resources: {
    builtin: {
      bits: "0x040000000000803F000000C0"
    }
  }
#-}

// CHECK-LABEL: func.func @shorts
// CHECK-SAME: %[[S:.*]]: tensor<4xi16> {{.*}}, %[[U:.*]]: tensor<4xi16>
func.func @shorts(%s: tensor<4xi16>, %u: tensor<4xui16>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xui16>, tensor<4xi1>) {
  // CHECK: arith.extsi %[[S]] : tensor<4xi16> to tensor<4xi32>
  %0 = "stablehlo.convert"(%s) : (tensor<4xi16>) -> tensor<4xi32>
  // CHECK: arith.extui %[[U]] : tensor<4xi16> to tensor<4xi32>
  %1 = "stablehlo.convert"(%u) : (tensor<4xui16>) -> tensor<4xi32>
  // CHECK: arith.divui %[[U]], %[[U]] : tensor<4xi16>
  %2 = "stablehlo.divide"(%u, %u) : (tensor<4xui16>, tensor<4xui16>) -> tensor<4xui16>
  // CHECK: arith.cmpi ult, %[[U]]
  %3 = "stablehlo.compare"(%u, %2) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type UNSIGNED>}> : (tensor<4xui16>, tensor<4xui16>) -> tensor<4xi1>
  return %0, %1, %2, %3 : tensor<4xi32>, tensor<4xi32>, tensor<4xui16>, tensor<4xi1>
}
