// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @identity
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>)
// CHECK-NEXT: return %[[X]]
func.func @identity(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = weft.transpose %x dims = [0, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The type alone does not tell: elements move.
// CHECK-LABEL: func.func @square
// CHECK: weft.transpose
func.func @square(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = weft.transpose %x dims = [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
