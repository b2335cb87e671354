// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<4x8xf32>, %y: tensor<8xi1>) {
  // CHECK: weft.argsort %{{.*}} dim = 1 : tensor<4x8xf32> -> tensor<4x8xi32>
  %r0 = weft.argsort %x dim = 1 : tensor<4x8xf32> -> tensor<4x8xi32>
  // CHECK: weft.argsort %{{.*}} dim = 0 descending : tensor<8xi1> -> tensor<3xi32>
  %r1 = weft.argsort %y dim = 0 descending : tensor<8xi1> -> tensor<3xi32>
  return
}
