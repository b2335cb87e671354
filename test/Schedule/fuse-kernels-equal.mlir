// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Whether kernels are equal does not depend on how a program is printed.
// RUN: shard-opt %s --weft-fuse-kernels | FileCheck %s
// RUN: shard-opt %s --weft-fuse-kernels --mlir-print-debuginfo | FileCheck %s
// RUN: shard-opt %s --weft-fuse-kernels --mlir-elide-elementsattrs-if-larger=2 | FileCheck %s

// Two kernels that differ in where they come from are one.
// CHECK-LABEL: @step
// CHECK: weft.launch @[[NEG:.*]](%{{.*}})
// CHECK: weft.launch @[[NEG]](%{{.*}})
func.func @step(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = arith.negf %x : tensor<4x4xf32>
  %p = weft.gemm %a, %a batch = 1 m = 4 n = 4 k = 4 strides = [0, 4, 1] x [0, 4, 1] -> [0, 4, 1] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = arith.negf %p : tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}

// Those with constants of other numbers are not.
// CHECK-LABEL: @first
// CHECK: weft.launch @[[FIRST:.*]](%{{.*}})
func.func @first(%v: tensor<4xf32>) -> tensor<4xf32> {
  %one = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %r = arith.addf %v, %one : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: @second
// CHECK-NOT: weft.launch @[[FIRST]](
// CHECK: weft.launch @{{.*}}(%{{.*}})
func.func @second(%v: tensor<4xf32>) -> tensor<4xf32> {
  %two = arith.constant dense<[4.0, 3.0, 2.0, 1.0]> : tensor<4xf32>
  %r = arith.addf %v, %two : tensor<4xf32>
  return %r : tensor<4xf32>
}
