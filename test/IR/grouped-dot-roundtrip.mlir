// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s | shard-opt | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK: weft.grouped_dot %arg0, %arg1 groups %arg2 : (tensor<2x32x8xf32>, tensor<4x8x16xf32>, tensor<2x4xi32>) -> tensor<2x32x16xf32>
// CHECK: weft.grouped_dot %{{.*}}, %arg1 groups %arg2 transposed : (tensor<2x32x16xf32>, tensor<4x8x16xf32>, tensor<2x4xi32>) -> tensor<2x32x8xf32>
// CHECK: weft.grouped_outer %arg0, %{{.*}} groups %arg2 : (tensor<2x32x8xf32>, tensor<2x32x16xf32>, tensor<2x4xi32>) -> tensor<4x8x16xf32>
func.func @f(%x: tensor<2x32x8xf32>, %w: tensor<4x8x16xf32>, %s: tensor<2x4xi32>) {
  %r = weft.grouped_dot %x, %w groups %s : (tensor<2x32x8xf32>, tensor<4x8x16xf32>, tensor<2x4xi32>) -> tensor<2x32x16xf32>
  %t = weft.grouped_dot %r, %w groups %s transposed : (tensor<2x32x16xf32>, tensor<4x8x16xf32>, tensor<2x4xi32>) -> tensor<2x32x8xf32>
  %g = weft.grouped_outer %x, %r groups %s : (tensor<2x32x8xf32>, tensor<2x32x16xf32>, tensor<2x4xi32>) -> tensor<4x8x16xf32>
  return
}
