// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-decompose --split-input-file | FileCheck %s
// RUN: shard-opt %s --weft-decompose --split-input-file --mlir-print-debuginfo | FileCheck %s --check-prefix=PLACE

// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>)
// CHECK-NEXT: %[[MAX:.*]] = weft.reduce max %[[X]] dims = [1]
// CHECK-NEXT: %[[SPREAD:.*]] = weft.broadcast %[[MAX]] dims = [0]
// CHECK-NEXT: %[[SHIFTED:.*]] = arith.subf %[[X]], %[[SPREAD]]
// CHECK-NEXT: %[[TERMS:.*]] = math.exp %[[SHIFTED]]
// CHECK-NEXT: %[[SUM:.*]] = weft.reduce sum %[[TERMS]] dims = [1]
// CHECK-NEXT: %[[TOTAL:.*]] = weft.broadcast %[[SUM]] dims = [0]
// CHECK-NEXT: %[[R:.*]] = arith.divf %[[TERMS]], %[[TOTAL]]
// CHECK-NEXT: return %[[R]]
// PLACE: weft.reduce max {{.*}} loc(#[[PLACE:.*]])
// PLACE: arith.divf {{.*}} loc(#[[PLACE]])
// PLACE: #[[PLACE]] = loc({{.*}}decompose.mlir
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = weft.softmax %x dims = [1] : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// bf16 is computed in f32 and rounded once.

// CHECK-LABEL: func.func @narrow(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xbf16>)
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[X]] : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK-NOT: bf16
// CHECK: %[[R:.*]] = arith.truncf %{{.*}} : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK-NEXT: return %[[R]]
func.func @narrow(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %r = weft.silu %x : tensor<4x8xbf16>
  return %r : tensor<4x8xbf16>
}

// -----

// CHECK-LABEL: func.func @log_softmax(
// CHECK: %[[SHIFTED:.*]] = arith.subf
// CHECK: %[[TERMS:.*]] = math.exp %[[SHIFTED]]
// CHECK: %[[SUM:.*]] = weft.reduce sum %[[TERMS]] dims = [0]
// CHECK: %[[LOG:.*]] = math.log %[[SUM]]
// CHECK: %[[SPREAD:.*]] = weft.broadcast %[[LOG]] dims = [1]
// CHECK: arith.subf %[[SHIFTED]], %[[SPREAD]]
func.func @log_softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = weft.log_softmax %x dims = [0] : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @layer_norm(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[S:.*]]: tensor<8xbf16>, %[[B:.*]]: tensor<8xf32>)
// CHECK: %[[SUM:.*]] = weft.reduce sum %[[X]] dims = [1]
// CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]], %{{.*}} : tensor<4xf32>
// CHECK: %[[MEANS:.*]] = weft.broadcast %[[MEAN]] dims = [0]
// CHECK: %[[CENTERED:.*]] = arith.subf %[[X]], %[[MEANS]]
// CHECK: %[[SQUARES:.*]] = arith.mulf %[[CENTERED]], %[[CENTERED]]
// CHECK: weft.reduce sum %[[SQUARES]] dims = [1]
// CHECK: %[[FACTOR:.*]] = math.rsqrt %{{.*}} : tensor<4xf32>
// CHECK: %[[FACTORS:.*]] = weft.broadcast %[[FACTOR]] dims = [0]
// CHECK: %[[N:.*]] = arith.mulf %{{.*}}, %[[FACTORS]]
// CHECK: %[[WIDE:.*]] = arith.extf %[[S]]
// CHECK: %[[SCALES:.*]] = weft.broadcast %[[WIDE]] dims = [1]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[N]], %[[SCALES]]
// CHECK: %[[BIASES:.*]] = weft.broadcast %[[B]] dims = [1]
// CHECK: arith.addf %[[SCALED]], %[[BIASES]]
func.func @layer_norm(%x: tensor<4x8xf32>, %s: tensor<8xbf16>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %r = weft.layer_norm %x scale %s bias %b dims = [1] epsilon = 1.0e-5
      : tensor<4x8xf32> scale tensor<8xbf16> bias tensor<8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @rms_norm(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>)
// CHECK-NOT: arith.subf
// CHECK: %[[SQUARES:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK: weft.reduce sum %[[SQUARES]] dims = [1]
// CHECK: math.rsqrt
// CHECK: arith.mulf %[[X]], %{{.*}}
func.func @rms_norm(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = weft.rms_norm %x dims = [1] epsilon = 1.0e-6 : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @gelu(
// CHECK: math.erfc
// CHECK: math.tanh
func.func @gelu(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %r = weft.gelu %x : tensor<4x8xf32>
  %s = weft.gelu approximate %x : tensor<4x8xf32>
  return %r, %s : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// No exponential overflows.

// CHECK-LABEL: func.func @logistic(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>)
// CHECK: %[[SIZE:.*]] = math.absf %[[X]]
// CHECK: %[[MINUS:.*]] = arith.negf %[[SIZE]]
// CHECK: %[[E:.*]] = math.exp %[[MINUS]]
// CHECK: %[[TOP:.*]] = arith.select %{{.*}}, %[[E]], %{{.*}}
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: arith.divf %[[TOP]], %[[SUM]]
// CHECK: %[[SIZE2:.*]] = math.absf
// CHECK: %[[MINUS2:.*]] = arith.negf %[[SIZE2]]
// CHECK: math.exp %[[MINUS2]]
func.func @logistic(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r = weft.logistic %x : tensor<4xf32>
  %s = weft.sech_squared %x : tensor<4xf32>
  return %r, %s : tensor<4xf32>, tensor<4xf32>
}

// -----

// The logit at the label is not looked up: it is the only element of its row
// that is not 0. What is no class has NaN in its place.

// CHECK-LABEL: func.func @cross_entropy(
// CHECK-SAME: %[[X:.*]]: tensor<4x50xf32>, %[[L:.*]]: tensor<4xi32>)
// CHECK: %[[ISCLASS:.*]] = arith.cmpi ult
// CHECK: weft.reduce max %[[X]] dims = [1]
// CHECK: weft.reduce sum %{{.*}} dims = [1]
// CHECK: %[[LOG:.*]] = arith.addf %{{.*}} : tensor<4xf32>
// CHECK: %[[TOTAL:.*]] = arith.select %[[ISCLASS]], %[[LOG]], %{{.*}} : tensor<4xi1>, tensor<4xf32>
// CHECK: %[[TOTALS:.*]] = weft.broadcast %[[TOTAL]] dims = [0]
// CHECK: %[[DISTANCE:.*]] = arith.subf %[[TOTALS]], %[[X]]
// CHECK: %[[AT:.*]] = weft.iota dim = 1 : tensor<4x50xi32>
// CHECK: %[[IS:.*]] = arith.cmpi eq, %[[AT]], %{{.*}} : tensor<4x50xi32>
// CHECK: %[[KEPT:.*]] = arith.select %[[IS]], %[[DISTANCE]], %{{.*}}
// CHECK: %[[R:.*]] = weft.reduce sum %[[KEPT]] dims = [1]
// CHECK-NEXT: return %[[R]]
func.func @cross_entropy(%x: tensor<4x50xf32>, %l: tensor<4xi32>) -> tensor<4xf32> {
  %r = weft.cross_entropy %x, %l dim = 1 : (tensor<4x50xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// Others stay.

// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT: weft.reduce
// CHECK-NEXT: return
func.func @nothing(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %r = weft.reduce sum %x dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  return %r : tensor<4xf32>
}
