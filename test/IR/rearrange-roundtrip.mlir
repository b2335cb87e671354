// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<4x6xf32>, %y: tensor<4x3xf32>) {
  // CHECK: weft.rearrange %{{.*}} dim = 1 map <[6] to [4], 2 to 0 for 3> : (tensor<4x6xf32>) -> tensor<4x4xf32>
  %r0 = weft.rearrange %x dim = 1 map <[6] to [4], 2 to 0 for 3> : (tensor<4x6xf32>) -> tensor<4x4xf32>
  // CHECK: weft.rearrange %{{.*}}, %{{.*}} dim = 1 map <[6, 3] to [10], 0 to 2 for 5, 6 to 7 for 2> value = 1.000000e+00 : f32 : (tensor<4x6xf32>, tensor<4x3xf32>) -> tensor<4x10xf32>
  %r1 = weft.rearrange %x, %y dim = 1 map <[6, 3] to [10], 0 to 2 for 5, 6 to 7 for 2> value = 1.0 : f32 : (tensor<4x6xf32>, tensor<4x3xf32>) -> tensor<4x10xf32>
  return
}
