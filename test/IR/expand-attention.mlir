// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-expand-attention --weft-verify-form=form=graph | FileCheck %s
// RUN: shard-opt %s --weft-expand-attention=heads-up-to=16 | FileCheck %s --check-prefix=SMALL
// SMALL: weft.attention %
// SMALL: weft.attention_grad %

// CHECK-LABEL: func.func @forward
// CHECK:         %[[S:.*]] = weft.dot_general %{{.*}}, %{{.*}} batching = [0, 2] x [0, 2] contracting = [4] x [3] : (tensor<2x8x2x2x16xf32>, tensor<2x12x2x16xf32>) -> tensor<2x2x8x2x12xf32>
// CHECK:         arith.select
// CHECK:         %[[MAX:.*]] = weft.reduce max %{{.*}} dims = [4]
// CHECK:         math.exp
// CHECK:         weft.reduce sum
// CHECK:         weft.dot_general %{{.*}}, %{{.*}} batching = [0, 1] x [0, 2] contracting = [4] x [1]
// CHECK:         arith.truncf %{{.*}} : tensor<2x8x4x16xf32> to tensor<2x8x4x16xbf16>
// CHECK-NOT:     weft.attention
func.func @forward(%q: tensor<2x8x4x16xbf16>, %k: tensor<2x12x2x16xbf16>, %d: tensor<i32>) -> (tensor<2x8x4x16xbf16>, tensor<2x8x4xf32>) {
  %r, %s = weft.attention %q, %k, %k causal diagonal %d scale = 0.25
      : (tensor<2x8x4x16xbf16>, tensor<2x12x2x16xbf16>, tensor<2x12x2x16xbf16>, tensor<i32>) -> (tensor<2x8x4x16xbf16>, tensor<2x8x4xf32>)
  return %r, %s : tensor<2x8x4x16xbf16>, tensor<2x8x4xf32>
}

// The sums of a result times its cotangent, less the cotangent of the logsumexp,
// come off the cotangents of all weights of a query.
// CHECK-LABEL: func.func @backward
// CHECK:         %[[PRODUCTS:.*]] = arith.mulf %arg2, %arg4 : tensor<2x8x4x16xf64>
// CHECK:         %[[SUMS:.*]] = weft.reduce sum %[[PRODUCTS]] dims = [3]
// CHECK:         arith.subf %[[SUMS]], %arg5 : tensor<2x8x4xf64>
// CHECK:         weft.dot_general %{{.*}}, %{{.*}} batching = [0, 1] x [0, 2] contracting = [2, 3] x [1, 3] : (tensor<2x2x8x2x12xf64>, tensor<2x8x2x2x16xf64>) -> tensor<2x2x12x16xf64>
// CHECK-NOT:     weft.attention
func.func @backward(%q: tensor<2x8x4x16xf64>, %k: tensor<2x12x2x16xf64>, %o: tensor<2x8x4x16xf64>, %l: tensor<2x8x4xf64>, %g: tensor<2x8x4x16xf64>, %e: tensor<2x8x4xf64>) -> (tensor<2x8x4x16xf64>, tensor<2x12x2x16xf64>, tensor<2x12x2x16xf64>) {
  %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %o, %l, %g logsumexp %e scale = 0.25
      : (tensor<2x8x4x16xf64>, tensor<2x12x2x16xf64>, tensor<2x12x2x16xf64>, tensor<2x8x4x16xf64>, tensor<2x8x4xf64>, tensor<2x8x4x16xf64>, tensor<2x8x4xf64>)
     -> (tensor<2x8x4x16xf64>, tensor<2x12x2x16xf64>, tensor<2x12x2x16xf64>)
  return %dq, %dk, %dv : tensor<2x8x4x16xf64>, tensor<2x12x2x16xf64>, tensor<2x12x2x16xf64>
}
