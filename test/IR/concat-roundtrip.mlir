// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<2x8xf32>, %y: tensor<3x8xf32>) {
  // CHECK: weft.concat %{{.*}}, %{{.*}} dim = 0 : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
  %r0 = weft.concat %x, %y dim = 0 : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
  // CHECK: weft.concat %{{.*}} dim = 1 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %r1 = weft.concat %x dim = 1 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}
