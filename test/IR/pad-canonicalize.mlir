// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @nothing_added
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>)
// CHECK-NEXT: return %[[X]]
func.func @nothing_added(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = weft.pad %x low = [0, 0] high = [0, 0] interior = [0, 0] value = 0.0 : f32 : tensor<4x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// One element has no neighbour to keep apart from.
// CHECK-LABEL: func.func @nothing_between
// CHECK-SAME: (%[[X:.*]]: tensor<1xf32>)
// CHECK-NEXT: return %[[X]]
func.func @nothing_between(%x: tensor<1xf32>) -> tensor<1xf32> {
  %y = weft.pad %x low = [0] high = [0] interior = [3] value = 0.0 : f32 : tensor<1xf32> -> tensor<1xf32>
  return %y : tensor<1xf32>
}
