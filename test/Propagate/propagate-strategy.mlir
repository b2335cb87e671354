// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate=strategy=basic | FileCheck %s --check-prefixes=CHECK,BASIC
// RUN: shard-opt %s --weft-propagate=strategy=aggressive | FileCheck %s --check-prefixes=CHECK,AGGRESSIVE
// RUN: shard-opt %s --weft-propagate=strategy=basic-then-aggressive | FileCheck %s --check-prefixes=CHECK,AGGRESSIVE
// RUN: shard-opt %s --weft-propagate | FileCheck %s --check-prefixes=CHECK,AGGRESSIVE

// Both operands offer "a" to the result. Basic: rows and columns conflict, so
// neither comes. Aggressive: the larger operand's columns win.

weft.mesh @mesh = <["a"=2]>
// CHECK-LABEL: func.func @conflict
func.func @conflict(
    %x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {?}]>},
    %w: tensor<8x32xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {"a"}]>})
    -> tensor<8x32xf32> {
  // BASIC: weft.dot_general {{.*}}[{}, {}]
  // AGGRESSIVE: weft.dot_general {{.*}}[{}, {"a"}]
  %y = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<8x8xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
