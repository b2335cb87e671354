// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-combine-collectives=cluster=%S/Inputs/uniform.toml | FileCheck %s

weft.mesh @mesh = <["data"=2]>

// Two branches of x and y, each with a sum and one that needs it: two calls.
// What the sums are used for is large, and stays where it is.
// CHECK-LABEL: func.func @two_deep(
// CHECK-COUNT-2: weft.reduce sum
// CHECK: weft.all_reduce sum %{{.*}} : tensor<4096xf32>
// CHECK: arith.subf
// CHECK: weft.reduce sum
// CHECK: arith.subf
// CHECK: weft.reduce sum
// CHECK: weft.all_reduce sum %{{.*}} : tensor<4096xf32>
// CHECK-NOT: weft.all_reduce
// CHECK: return
func.func @two_deep(%x: tensor<64x2048xf32>, %y: tensor<64x2048xf32>) -> (tensor<64x2048xf32>, tensor<64x2048xf32>) {
  %sum_x = weft.reduce sum %x dims = [0] : tensor<64x2048xf32> -> tensor<2048xf32>
  %mean_x = weft.all_reduce sum %sum_x over <@mesh, {"data"}> : tensor<2048xf32>
  %wide_x = weft.broadcast %mean_x dims = [1] : tensor<2048xf32> -> tensor<64x2048xf32>
  %far_x = arith.subf %x, %wide_x : tensor<64x2048xf32>
  %squares_x = weft.reduce sum %far_x dims = [0] : tensor<64x2048xf32> -> tensor<2048xf32>
  %variance_x = weft.all_reduce sum %squares_x over <@mesh, {"data"}> : tensor<2048xf32>
  %scale_x = weft.broadcast %variance_x dims = [1] : tensor<2048xf32> -> tensor<64x2048xf32>
  %norm_x = arith.mulf %far_x, %scale_x : tensor<64x2048xf32>
  %sum_y = weft.reduce sum %y dims = [0] : tensor<64x2048xf32> -> tensor<2048xf32>
  %mean_y = weft.all_reduce sum %sum_y over <@mesh, {"data"}> : tensor<2048xf32>
  %wide_y = weft.broadcast %mean_y dims = [1] : tensor<2048xf32> -> tensor<64x2048xf32>
  %far_y = arith.subf %y, %wide_y : tensor<64x2048xf32>
  %squares_y = weft.reduce sum %far_y dims = [0] : tensor<64x2048xf32> -> tensor<2048xf32>
  %variance_y = weft.all_reduce sum %squares_y over <@mesh, {"data"}> : tensor<2048xf32>
  %scale_y = weft.broadcast %variance_y dims = [1] : tensor<2048xf32> -> tensor<64x2048xf32>
  %norm_y = arith.mulf %far_y, %scale_y : tensor<64x2048xf32>
  return %norm_x, %norm_y : tensor<64x2048xf32>, tensor<64x2048xf32>
}

// What a large matmul makes is not waited for: it hides the first sum.
// CHECK-LABEL: func.func @slow_branch(
// CHECK: weft.all_reduce sum %{{.*}} : tensor<2048xf32>
// CHECK: weft.dot_general
// CHECK: weft.all_reduce sum %{{.*}} : tensor<2048xf32>
func.func @slow_branch(%x: tensor<64x2048xf32>, %y: tensor<64x65536xf32>, %w: tensor<65536x2048xf32>) -> (tensor<64x2048xf32>, tensor<64x2048xf32>) {
  %sum_x = weft.reduce sum %x dims = [0] : tensor<64x2048xf32> -> tensor<2048xf32>
  %mean_x = weft.all_reduce sum %sum_x over <@mesh, {"data"}> : tensor<2048xf32>
  %wide_x = weft.broadcast %mean_x dims = [1] : tensor<2048xf32> -> tensor<64x2048xf32>
  %z = weft.dot_general %y, %w contracting = [1] x [0] : (tensor<64x65536xf32>, tensor<65536x2048xf32>) -> tensor<64x2048xf32>
  %sum_z = weft.reduce sum %z dims = [0] : tensor<64x2048xf32> -> tensor<2048xf32>
  %mean_z = weft.all_reduce sum %sum_z over <@mesh, {"data"}> : tensor<2048xf32>
  %wide_z = weft.broadcast %mean_z dims = [1] : tensor<2048xf32> -> tensor<64x2048xf32>
  return %wide_x, %wide_z : tensor<64x2048xf32>, tensor<64x2048xf32>
}
