// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @to_its_own_type
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>)
// CHECK-NEXT: return %[[X]]
func.func @to_its_own_type(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = weft.reshape %x : tensor<4x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @to_another_type
// CHECK: weft.reshape
func.func @to_another_type(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  %y = weft.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  return %y : tensor<32xf32>
}
