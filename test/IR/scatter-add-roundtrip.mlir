// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%u: tensor<4x3x8xf32>, %v: tensor<8xi32>, %i: tensor<4x3xi32>, %s: tensor<i64>) {
  // CHECK: weft.scatter_add %{{.*}}, %{{.*}} dim = 0 : (tensor<4x3x8xf32>, tensor<4x3xi32>) -> tensor<50x8xf32>
  %r0 = weft.scatter_add %u, %i dim = 0 : (tensor<4x3x8xf32>, tensor<4x3xi32>) -> tensor<50x8xf32>
  // CHECK: weft.scatter_add %{{.*}}, %{{.*}} dim = 1 batching = [0] x [0] : (tensor<4x3x8xf32>, tensor<4x3xi32>) -> tensor<4x50x8xf32>
  %r1 = weft.scatter_add %u, %i dim = 1 batching = [0] x [0] : (tensor<4x3x8xf32>, tensor<4x3xi32>) -> tensor<4x50x8xf32>
  // CHECK: weft.scatter_add %{{.*}}, %{{.*}} dim = 1 : (tensor<8xi32>, tensor<i64>) -> tensor<8x50xi32>
  %r2 = weft.scatter_add %v, %s dim = 1 : (tensor<8xi32>, tensor<i64>) -> tensor<8x50xi32>
  return
}
