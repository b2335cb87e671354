// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-accumulate-gemms | FileCheck %s

// The gradient of a weight is added to the sum in place; what else reads the
// sum or the product keeps them apart.
// CHECK-LABEL: func.func @sums
// CHECK:         weft.repeat 4 carry (%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) : (tensor<4x8xf32>, tensor<4x8xf32>) {
// CHECK-NEXT:      %[[NEXT:.*]] = weft.gemm %{{.*}}, %{{.*}} batch = 1 m = 4 n = 8 k = 16 {{.*}} then accumulate(%[[A]])
// CHECK-NEXT:      %[[OTHER:.*]] = weft.gemm
// CHECK-NOT:         accumulate
// CHECK:           %[[TWICE:.*]] = arith.addf %[[OTHER]], %[[OTHER]]
// CHECK-NEXT:      weft.yield %[[NEXT]], %[[TWICE]]
func.func @sums(%x: tensor<4x16xf32>, %y: tensor<16x8xf32>, %zero: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %r:2 = weft.repeat 4 carry (%a = %zero, %b = %zero) : (tensor<4x8xf32>, tensor<4x8xf32>) {
    %p = weft.gemm %x, %y batch = 1 m = 4 n = 8 k = 16
        strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
        : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    %next = arith.addf %a, %p : tensor<4x8xf32>
    %q = weft.gemm %x, %y batch = 1 m = 4 n = 8 k = 16
        strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
        : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    %twice = arith.addf %q, %q : tensor<4x8xf32>
    weft.yield %next, %twice : tensor<4x8xf32>, tensor<4x8xf32>
  }
  return %r#0, %r#1 : tensor<4x8xf32>, tensor<4x8xf32>
}
