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
