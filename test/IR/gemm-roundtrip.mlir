// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s | shard-opt | FileCheck %s
// RUN: shard-opt %s --mlir-print-op-generic | shard-opt | FileCheck %s

// CHECK-LABEL: @transposed_rhs
func.func @transposed_rhs(%a: tensor<4x16xf32>, %b: tensor<8x16xf32>) -> tensor<4x8xf32> {
  // CHECK: weft.gemm %{{.*}}, %{{.*}} batch = 1 m = 4 n = 8 k = 16 strides = [64, 16, 1] x [128, 1, 16] -> [32, 8, 1] : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 1, 16] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: @wider_result
func.func @wider_result(%a: tensor<2x4x16xbf16>, %b: tensor<2x16x8xbf16>) -> tensor<2x8x4xf32> {
  // CHECK: weft.gemm %{{.*}} batch = 2 {{.*}} -> [32, 1, 4] : (tensor<2x4x16xbf16>, tensor<2x16x8xbf16>) -> tensor<2x8x4xf32>
  %r = weft.gemm %a, %b batch = 2 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 1, 4]
      : (tensor<2x4x16xbf16>, tensor<2x16x8xbf16>) -> tensor<2x8x4xf32>
  return %r : tensor<2x8x4xf32>
}

// CHECK-LABEL: @epilogues
func.func @epilogues(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>, %bias: tensor<8xf32>, %aux: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) {
  // CHECK: %[[SUMS:.*]] = weft.gemm {{.*}} -> [32, 8, 1] then bias(%{{.*}}) : (tensor<4x16xf32>, tensor<16x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %0 = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] then bias(%bias)
      : (tensor<4x16xf32>, tensor<16x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: weft.gemm {{.*}} -> [32, 8, 1] tf32 then gelu : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %1 = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] tf32 then gelu
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  // CHECK: %[[Y:.*]], %[[AUX:.*]] = weft.gemm {{.*}} then bias_gelu_aux(%{{.*}}) : {{.*}} -> (tensor<4x8xf32>, tensor<4x8xf32>)
  %2:2 = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] then bias_gelu_aux(%bias)
      : (tensor<4x16xf32>, tensor<16x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  // CHECK: weft.gemm {{.*}} then gelu_grad_bias_grad(%[[AUX]]) : {{.*}} -> (tensor<4x8xf32>, tensor<8xf32>)
  %3:2 = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] then gelu_grad_bias_grad(%2#1)
      : (tensor<4x16xf32>, tensor<16x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  // CHECK: weft.gemm {{.*}} tf32 : {{.*}} -> tensor<4x8xf32>
  %4 = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] tf32
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  // The rows of the result need not be contiguous.
  // CHECK: weft.gemm {{.*}} -> [32, 1, 4] then lhs_bias_grad : {{.*}} -> (tensor<8x4xf32>, tensor<4xf32>)
  %5:2 = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 1, 4] then lhs_bias_grad
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
  return %0, %1, %3#0, %3#1, %5#1
      : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>
}
