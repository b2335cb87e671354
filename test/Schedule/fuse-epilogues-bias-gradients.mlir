// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-fuse-epilogues | FileCheck %s

// What uses the gradient of the bias moves behind the GEMM.

// CHECK-LABEL: func.func @of_rhs(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x16xf32>, %[[DY:.*]]: tensor<2x3x8xf32>)
// CHECK-NEXT: %[[DW:.*]], %[[DB:.*]] = weft.gemm %[[X]], %[[DY]] {{.*}} then rhs_bias_grad : {{.*}} -> (tensor<16x8xf32>, tensor<8xf32>)
// CHECK-NEXT: %[[R:.*]] = arith.addf %[[DB]], %[[DB]]
// CHECK-NEXT: return %[[R]], %[[DW]]
func.func @of_rhs(%x: tensor<2x3x16xf32>, %dy: tensor<2x3x8xf32>) -> (tensor<8xf32>, tensor<16x8xf32>) {
  %db = weft.reduce sum %dy dims = [0, 1] : tensor<2x3x8xf32> -> tensor<8xf32>
  %r = arith.addf %db, %db : tensor<8xf32>
  %dw = weft.gemm %x, %dy batch = 1 m = 16 n = 8 k = 6 strides = [96, 1, 16] x [48, 8, 1] -> [128, 8, 1]
      : (tensor<2x3x16xf32>, tensor<2x3x8xf32>) -> tensor<16x8xf32>
  return %r, %dw : tensor<8xf32>, tensor<16x8xf32>
}

// -----

// Through views and conversions: heads in bf16, added up in f32 and rounded.

// CHECK-LABEL: func.func @of_lhs(
// CHECK-SAME: %[[X:.*]]: tensor<6x16xbf16>, %[[DY:.*]]: tensor<6x2x4xbf16>)
// CHECK-NEXT: %[[DW:.*]], %[[DB:.*]] = weft.gemm %[[DY]], %[[X]] {{.*}} then lhs_bias_grad : {{.*}} -> (tensor<8x16xbf16>, tensor<8xbf16>)
// CHECK-NEXT: return %[[DW]], %[[DB]]
func.func @of_lhs(%x: tensor<6x16xbf16>, %dy: tensor<6x2x4xbf16>) -> (tensor<8x16xbf16>, tensor<8xbf16>) {
  %flat = weft.reshape %dy : tensor<6x2x4xbf16> -> tensor<6x8xbf16>
  %wide = arith.extf %flat : tensor<6x8xbf16> to tensor<6x8xf32>
  %sum = weft.reduce sum %wide dims = [0] : tensor<6x8xf32> -> tensor<8xf32>
  %db = arith.truncf %sum : tensor<8xf32> to tensor<8xbf16>
  %dw = weft.gemm %dy, %x batch = 1 m = 8 n = 16 k = 6 strides = [48, 1, 8] x [96, 16, 1] -> [128, 16, 1]
      : (tensor<6x2x4xbf16>, tensor<6x16xbf16>) -> tensor<8x16xbf16>
  return %dw, %db : tensor<8x16xbf16>, tensor<8xbf16>
}

// -----

// A GEMM writes the type of its result; a narrower one is rounded from it.

// CHECK-LABEL: func.func @narrower(
// CHECK: %[[DW:.*]], %[[DB:.*]] = weft.gemm {{.*}} then rhs_bias_grad : {{.*}} -> (tensor<16x8xf32>, tensor<8xf32>)
// CHECK-NEXT: %[[R:.*]] = arith.truncf %[[DB]] : tensor<8xf32> to tensor<8xbf16>
// CHECK-NEXT: return %[[DW]], %[[R]]
func.func @narrower(%x: tensor<6x16xbf16>, %dy: tensor<6x8xbf16>) -> (tensor<16x8xf32>, tensor<8xbf16>) {
  %db = weft.reduce sum %dy dims = [0] : tensor<6x8xbf16> -> tensor<8xbf16>
  %dw = weft.gemm %x, %dy batch = 1 m = 16 n = 8 k = 6 strides = [96, 1, 16] x [48, 8, 1] -> [128, 8, 1]
      : (tensor<6x16xbf16>, tensor<6x8xbf16>) -> tensor<16x8xf32>
  return %dw, %db : tensor<16x8xf32>, tensor<8xbf16>
}

// -----

// A wider one cannot be made of it.

// CHECK-LABEL: func.func @wider(
// CHECK: weft.reduce sum
// CHECK: weft.gemm {{.*}} -> [128, 8, 1] :
func.func @wider(%x: tensor<6x16xbf16>, %dy: tensor<6x8xbf16>) -> (tensor<16x8xbf16>, tensor<8xf32>) {
  %wide = arith.extf %dy : tensor<6x8xbf16> to tensor<6x8xf32>
  %db = weft.reduce sum %wide dims = [0] : tensor<6x8xf32> -> tensor<8xf32>
  %dw = weft.gemm %x, %dy batch = 1 m = 16 n = 8 k = 6 strides = [96, 1, 16] x [48, 8, 1] -> [128, 8, 1]
      : (tensor<6x16xbf16>, tensor<6x8xbf16>) -> tensor<16x8xbf16>
  return %dw, %db : tensor<16x8xbf16>, tensor<8xf32>
}

// -----

// The GEMM waits for the sum, so it cannot make it.

// CHECK-LABEL: func.func @waits(
// CHECK: weft.reduce sum
// CHECK: weft.gemm {{.*}} -> [128, 8, 1] :
func.func @waits(%dy: tensor<6x8xf32>) -> (tensor<16x8xf32>, tensor<8xf32>) {
  %db = weft.reduce sum %dy dims = [0] : tensor<6x8xf32> -> tensor<8xf32>
  %x = weft.broadcast %db dims = [1] : tensor<8xf32> -> tensor<12x8xf32>
  %dw = weft.gemm %x, %dy batch = 1 m = 16 n = 8 k = 6 strides = [96, 1, 16] x [48, 8, 1] -> [128, 8, 1]
      : (tensor<12x8xf32>, tensor<6x8xf32>) -> tensor<16x8xf32>
  return %dw, %db : tensor<16x8xf32>, tensor<8xf32>
}

// -----

// Sums over another dimension than the GEMM's, largest elements, batches and
// integers are not what cuBLASLt adds up.

// CHECK-LABEL: func.func @others(
// CHECK-NOT: bias_grad
// CHECK: return
func.func @others(%x: tensor<6x16xf32>, %dy: tensor<6x8xf32>, %i: tensor<6x8xi32>) -> (tensor<6xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xi32>, tensor<16x8xf32>, tensor<2x8x8xf32>, tensor<8x8xi32>) {
  %rows = weft.reduce sum %dy dims = [1] : tensor<6x8xf32> -> tensor<6xf32>
  %max = weft.reduce max %dy dims = [0] : tensor<6x8xf32> -> tensor<8xf32>
  %dw = weft.gemm %x, %dy batch = 1 m = 16 n = 8 k = 6 strides = [96, 1, 16] x [48, 8, 1] -> [128, 8, 1]
      : (tensor<6x16xf32>, tensor<6x8xf32>) -> tensor<16x8xf32>
  %z = weft.slice %x starts = [0, 0] limits = [6, 8] strides = [1, 1] : tensor<6x16xf32> -> tensor<6x8xf32>
  %sum = weft.reduce sum %z dims = [0] : tensor<6x8xf32> -> tensor<8xf32>
  %batched = weft.gemm %z, %z batch = 2 m = 8 n = 8 k = 3 strides = [24, 1, 8] x [24, 8, 1] -> [64, 8, 1]
      : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<2x8x8xf32>
  %integers = weft.reduce sum %i dims = [0] : tensor<6x8xi32> -> tensor<8xi32>
  %squares = weft.gemm %i, %i batch = 1 m = 8 n = 8 k = 6 strides = [48, 1, 8] x [48, 8, 1] -> [64, 8, 1]
      : (tensor<6x8xi32>, tensor<6x8xi32>) -> tensor<8x8xi32>
  return %rows, %max, %sum, %integers, %dw, %batched, %squares
      : tensor<6xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xi32>, tensor<16x8xf32>, tensor<2x8x8xf32>, tensor<8x8xi32>
}
