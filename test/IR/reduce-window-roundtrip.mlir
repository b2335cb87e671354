// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<4x8x3xf32>, %y: tensor<9xbf16>) {
  // CHECK: weft.reduce_window max %{{.*}} dim = 1 size = 2 stride = 2 dilation = 1 : tensor<4x8x3xf32> -> tensor<4x4x3xf32>
  %r0 = weft.reduce_window max %x dim = 1 size = 2 stride = 2 dilation = 1 : tensor<4x8x3xf32> -> tensor<4x4x3xf32>
  // CHECK: weft.reduce_window sum %{{.*}} dim = 0 size = 3 stride = 2 dilation = 3 : tensor<9xbf16> -> tensor<2xbf16>
  %r1 = weft.reduce_window sum %y dim = 0 size = 3 stride = 2 dilation = 3 : tensor<9xbf16> -> tensor<2xbf16>
  return
}
