// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-number-values | FileCheck %s

// The example of the pass. Constants, and what repeats or renames an operand,
// have no number.

// CHECK-LABEL: func.func @step
func.func @step(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>, %u: tensor<6x2xf32>, %i: tensor<6xi32>)
    -> (tensor<4x2xf32>, tensor<4xf32>, tensor<3x2xf32>) {
  // CHECK:      arith.constant
  // CHECK-NOT:  weft.numbered
  // CHECK:      weft.broadcast
  // CHECK-NOT:  weft.numbered
  %half = arith.constant dense<0.5> : tensor<f32>
  %halves = weft.broadcast %half dims = [] : tensor<f32> -> tensor<4x2xf32>
  // CHECK:      weft.dot_general {{.*}}weft.numbered = {kind = "sum", number = 0 : i64, terms = 8 : i64, types = [tensor<4x2xf32>]}
  %a = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  // CHECK-NEXT: arith.mulf {{.*}}weft.numbered = {kind = "element", number = 1 : i64, terms = 0 : i64, types = [tensor<4x2xf32>]}
  %b = arith.mulf %a, %halves : tensor<4x2xf32>
  // CHECK-NEXT: weft.reduce sum {{.*}}weft.numbered = {kind = "sum", number = 2 : i64, terms = 2 : i64, types = [tensor<4xf32>]}
  %c = weft.reduce sum %b dims = [1] : tensor<4x2xf32> -> tensor<4xf32>
  // CHECK-NEXT: weft.reduce max {{.*}}weft.numbered = {kind = "element", number = 3 : i64
  %d = weft.reduce max %b dims = [1] : tensor<4x2xf32> -> tensor<4xf32>
  // CHECK-NEXT: weft.broadcast
  // CHECK-NOT:  weft.numbered
  %wide = weft.broadcast %d dims = [0] : tensor<4xf32> -> tensor<4x2xf32>
  // CHECK:      arith.addf {{.*}} number = 4 : i64
  %e = arith.addf %b, %wide : tensor<4x2xf32>
  // CHECK-NEXT: weft.scatter_add {{.*}}weft.numbered = {kind = "sum", number = 5 : i64, terms = 6 : i64
  %f = weft.scatter_add %u, %i dim = 0 batching = [] x [] : (tensor<6x2xf32>, tensor<6xi32>) -> tensor<3x2xf32>
  return %e, %c, %f : tensor<4x2xf32>, tensor<4xf32>, tensor<3x2xf32>
}

// What a micro-batch uses of a value for all of them is that value again.

// CHECK-LABEL: func.func @loop
func.func @loop(%x: tensor<2x4x4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK:      weft.microbatch_slice {{.*}}weft.numbered = {kind = "element", number = 0 : i64, terms = 0 : i64, types = [tensor<4x4xf32>]}
  %xi = weft.microbatch_slice %x dim = 0 of <"loop", 2> : tensor<2x4x4xf32> -> tensor<4x4xf32>
  // CHECK-NEXT: weft.microbatch_use
  // CHECK-NOT:  weft.numbered
  %wi = weft.microbatch_use %w of <"loop", 2> : tensor<4xf32>
  // CHECK:      weft.dot_general {{.*}}kind = "sum", number = 1 : i64, terms = 4 : i64
  %y = weft.dot_general %xi, %wi contracting = [1] x [0] : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: weft.microbatch_sum {{.*}}kind = "sum", number = 2 : i64, terms = 2 : i64
  %s = weft.microbatch_sum %y of <"loop", 2> : tensor<4xf32>
  return %s : tensor<4xf32>
}
