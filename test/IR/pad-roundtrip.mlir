// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<4x8xf32>, %i: tensor<3xi32>, %p: tensor<2xi1>) {
  // CHECK: weft.pad %{{.*}} low = [0, 1] high = [0, 2] interior = [0, 0] value = 0.000000e+00 : f32 : tensor<4x8xf32> -> tensor<4x11xf32>
  %r0 = weft.pad %x low = [0, 1] high = [0, 2] interior = [0, 0] value = 0.0 : f32 : tensor<4x8xf32> -> tensor<4x11xf32>
  // CHECK: weft.pad %{{.*}} low = [0, 0] high = [0, 0] interior = [2, 1] value = -1.000000e+00 : f32 : tensor<4x8xf32> -> tensor<10x15xf32>
  %r1 = weft.pad %x low = [0, 0] high = [0, 0] interior = [2, 1] value = -1.0 : f32 : tensor<4x8xf32> -> tensor<10x15xf32>
  // CHECK: weft.pad %{{.*}} low = [1] high = [0] interior = [0] value = 7 : i32 : tensor<3xi32> -> tensor<4xi32>
  %r2 = weft.pad %i low = [1] high = [0] interior = [0] value = 7 : i32 : tensor<3xi32> -> tensor<4xi32>
  // CHECK: weft.pad %{{.*}} low = [1] high = [0] interior = [0] value = true : tensor<2xi1> -> tensor<3xi1>
  %r3 = weft.pad %p low = [1] high = [0] interior = [0] value = true : tensor<2xi1> -> tensor<3xi1>
  return
}
