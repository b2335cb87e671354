// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a timeline calls a kernel: its math, lookups and indexed sums; and what
// the cost model knows of its functions.
// RUN: shard-compile %s -o %t.plan
// RUN: shard-run %t.plan --dump=kernels | FileCheck %s

weft.mesh @mesh = <["data"=1]>

// CHECK-DAG: "maxsi, minsi, gather, tanh"
// CHECK-DAG: "scatter_add"
// CHECK-DAG: "copy"
// CHECK-DAG: calls "tanh" 32 times
// CHECK-DAG: calls "extf" 40 times
// A sum is formed in f64.
func.func @sum(%x: tensor<5x8xf32>) -> tensor<5xf32> {
  %s = weft.reduce sum %x dims = [1] : tensor<5x8xf32> -> tensor<5xf32>
  return %s : tensor<5xf32>
}
func.func @main(%t: tensor<9x8xf32>, %i: tensor<4xi32>)
    -> (tensor<4x8xf32>, tensor<9x8xf32>, tensor<8x9xf32>) {
  %r = weft.gather %t, %i dim = 0 : (tensor<9x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %h = math.tanh %r : tensor<4x8xf32>
  %s = weft.scatter_add %h, %i dim = 0 : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<9x8xf32>
  %c = weft.transpose %t dims = [1, 0] : tensor<9x8xf32> -> tensor<8x9xf32>
  return %h, %s, %c : tensor<4x8xf32>, tensor<9x8xf32>, tensor<8x9xf32>
}
