// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-expand-grouped-dots --weft-verify-form=form=graph | FileCheck %s

// The rows of each group, and zeros in place of others.
// CHECK-LABEL: func.func @rows
// CHECK:         %[[FIRSTS:.*]] = weft.reduce sum %{{.*}} dims = [2] : tensor<2x4x4xi32> -> tensor<2x4xi32>
// CHECK:         %[[ENDS:.*]] = arith.addi %[[FIRSTS]], %{{.*}} : tensor<2x4xi32>
// CHECK:         %[[ROW:.*]] = weft.iota dim = 2 : tensor<4x2x32x8xi32>
// CHECK:         %[[ROWS:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x2x32x8xi1>, tensor<4x2x32x8xf32>
// CHECK:         weft.dot_general %[[ROWS]], %arg1 contracting = [0, 3] x [0, 1] : (tensor<4x2x32x8xf32>, tensor<4x8x16xf32>) -> tensor<2x32x16xf32>
func.func @rows(%x: tensor<2x32x8xf32>, %w: tensor<4x8x16xf32>, %s: tensor<2x4xi32>) -> tensor<2x32x16xf32> {
  %r = weft.grouped_dot %x, %w groups %s : (tensor<2x32x8xf32>, tensor<4x8x16xf32>, tensor<2x4xi32>) -> tensor<2x32x16xf32>
  return %r : tensor<2x32x16xf32>
}

// CHECK-LABEL: func.func @transposed
// CHECK:         weft.dot_general %{{.*}}, %arg1 contracting = [0, 3] x [0, 2]
func.func @transposed(%x: tensor<2x32x16xf32>, %w: tensor<4x8x16xf32>, %s: tensor<2x4xi32>) -> tensor<2x32x8xf32> {
  %r = weft.grouped_dot %x, %w groups %s transposed : (tensor<2x32x16xf32>, tensor<4x8x16xf32>, tensor<2x4xi32>) -> tensor<2x32x8xf32>
  return %r : tensor<2x32x8xf32>
}

// CHECK-LABEL: func.func @sums
// CHECK:         weft.dot_general %{{.*}}, %arg1 contracting = [1, 2] x [0, 1] : (tensor<4x2x32x8xf32>, tensor<2x32x16xf32>) -> tensor<4x8x16xf32>
func.func @sums(%x: tensor<2x32x8xf32>, %y: tensor<2x32x16xf32>, %s: tensor<2x4xi32>) -> tensor<4x8x16xf32> {
  %r = weft.grouped_outer %x, %y groups %s : (tensor<2x32x8xf32>, tensor<2x32x16xf32>, tensor<2x4xi32>) -> tensor<4x8x16xf32>
  return %r : tensor<4x8x16xf32>
}
