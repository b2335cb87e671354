// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%t: tensor<50x8xf32>, %x: tensor<4x50x8xbf16>, %m: tensor<8x50xi1>, %s: tensor<i64>, %i: tensor<4x3xi32>, %w: tensor<3x4x8xi32>) {
  // CHECK: weft.gather %{{.*}}, %{{.*}} dim = 0 : (tensor<50x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xf32>
  %r0 = weft.gather %t, %i dim = 0 : (tensor<50x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xf32>
  // CHECK: weft.gather %{{.*}}, %{{.*}} dim = 1 batching = [0] x [0] : (tensor<4x50x8xbf16>, tensor<4x3xi32>) -> tensor<4x3x8xbf16>
  %r1 = weft.gather %x, %i dim = 1 batching = [0] x [0] : (tensor<4x50x8xbf16>, tensor<4x3xi32>) -> tensor<4x3x8xbf16>
  // Batching dimensions on both sides of the indexed one, in any order.
  // CHECK: weft.gather %{{.*}}, %{{.*}} dim = 1 batching = [2, 0] x [2, 1] : (tensor<4x50x8xbf16>, tensor<3x4x8xi32>) -> tensor<4x3x8xbf16>
  %r2 = weft.gather %x, %w dim = 1 batching = [2, 0] x [2, 1] : (tensor<4x50x8xbf16>, tensor<3x4x8xi32>) -> tensor<4x3x8xbf16>
  // CHECK: weft.gather %{{.*}}, %{{.*}} dim = 1 : (tensor<8x50xi1>, tensor<i64>) -> tensor<8xi1>
  %r3 = weft.gather %m, %s dim = 1 : (tensor<8x50xi1>, tensor<i64>) -> tensor<8xi1>
  return
}
