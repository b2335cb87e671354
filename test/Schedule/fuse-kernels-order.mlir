// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-lower-gemms --weft-fuse-kernels | FileCheck %s

// The kernel stands where the sum of what it reads is taken. What waits for it
// keeps the order of the program: the gradient of a weight comes before what
// follows the gradient of the operand.
// CHECK-LABEL: func.func @backward(
// CHECK: %[[K:.*]]:2 = weft.launch
// CHECK: weft.gemm %[[K]]#{{[01]}}, %arg1
// CHECK: weft.gemm %arg2, %[[K]]#
// CHECK: weft.launch
// CHECK: weft.gemm
// CHECK-NOT: weft.gemm
func.func @backward(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %h: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) {
  %y = arith.negf %x : tensor<8x8xf32>
  %dx = weft.dot_general %y, %w contracting = [1] x [1] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %dw = weft.dot_general %h, %y contracting = [0] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = math.tanh %dx : tensor<8x8xf32>
  %next = weft.dot_general %t, %w contracting = [1] x [1] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %sum = weft.reduce sum %y dims = [1] : tensor<8x8xf32> -> tensor<8xf32>
  return %next, %dw, %sum : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>
}
