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

// Products that are added up take one buffer, whichever side they are on.
// CHECK-LABEL: func.func @steps
// CHECK-NEXT:    %[[FIRST:.*]] = weft.gemm
// CHECK-NOT:       accumulate
// CHECK:         %[[SECOND:.*]] = weft.gemm {{.*}} then accumulate(%[[FIRST]])
// CHECK:         %[[THIRD:.*]] = weft.gemm {{.*}} then accumulate(%[[SECOND]])
// CHECK-NOT:     arith.addf
// CHECK:         return %[[THIRD]]
func.func @steps(%x: tensor<4x16xf32>, %y: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %a = weft.gemm %x, %y batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %b = weft.gemm %x, %y batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %ab = arith.addf %b, %a : tensor<4x8xf32>
  %c = weft.gemm %x, %y batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %abc = arith.addf %ab, %c : tensor<4x8xf32>
  return %abc : tensor<4x8xf32>
}

weft.mesh @mesh = <["a"=2]>

// Of an unrolled loop, the sum begins with zeros.
// CHECK-LABEL: func.func @zeros
// CHECK:         %[[FIRST:.*]] = weft.gemm
// CHECK:         %[[SECOND:.*]] = weft.gemm {{.*}} then accumulate(%[[FIRST]])
// CHECK-NOT:     arith.addf
// CHECK:         return %[[SECOND]]
func.func @zeros(%x: tensor<4x16xf32>, %y: tensor<16x8xf32>, %m: tensor<4x8xi1>) -> tensor<4x8xf32> {
  %whole = arith.constant dense<0.0> : tensor<8x8xf32>
  %zero = weft.all_slice %whole dim = 0 over <@mesh, {"a"}> : tensor<8x8xf32> -> tensor<4x8xf32>
  %start = arith.select %m, %zero, %zero : tensor<4x8xi1>, tensor<4x8xf32>
  %a = weft.gemm %x, %y batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %started = arith.addf %start, %a : tensor<4x8xf32>
  %b = weft.gemm %x, %y batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %ab = arith.addf %started, %b : tensor<4x8xf32>
  return %ab : tensor<4x8xf32>
}

// What else reads a product keeps it apart from the sum.
// CHECK-LABEL: func.func @read_again
// CHECK-NOT:     accumulate
// CHECK:         arith.addf
func.func @read_again(%x: tensor<4x16xf32>, %y: tensor<16x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %a = weft.gemm %x, %y batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %b = weft.gemm %x, %y batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %ab = arith.addf %a, %b : tensor<4x8xf32>
  return %ab, %a : tensor<4x8xf32>, tensor<4x8xf32>
}
